"""Export runs coloured by probability: as a self-contained HTML page, and as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import exp

from workbench.domain.choice import Choice
from workbench.domain.colour_modes import Mode, legend, level
from workbench.domain.display import percent, show_bytes, visible
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.export_text import answer_figures, parameter_texts, run_facts, run_title

_INK = ("#1f2328", "#7a4b00", "#9a3a00", "#b3261e", "#ffffff")
_PAPER = ("#ffffff", "#fff3d6", "#ffe0c2", "#ffd0cc", "#a11d33")
"""Text and background colours of the five probability levels (≥ .90, .60, .30, .10, below)."""

_STYLE = """
body{font:16px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1f2328;background:#fff}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:15px/1.7 ui-monospace,monospace}
.prompt,.figures{color:#59636e}
""" + "".join(
    f".l{level}{{color:{ink};background:{paper}}}\n"
    for level, (ink, paper) in enumerate(zip(_INK, _PAPER, strict=True))
)
_COLUMNS = 96
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def _escape(text: str) -> str:
    return escape(visible(text), quote=True)


def to_html(session: Session) -> str:
    """Return an HTML page without scripts or external resources; alternatives appear on hover."""
    title = _escape(session.title or "Untitled session")
    labels = zip(range(5), legend(Mode.PROBABILITY), strict=True)
    key = " ".join(f'<span class="l{n}">{escape(label)}</span>' for n, label in labels)
    runs = "".join(_run_to_html(session, number) for number in range(len(session.runs)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{key}</p>\n"
        f"{runs}</body></html>\n"
    )


def _run_to_html(session: Session, index: int) -> str:
    run = session.runs[index]
    facts = (" · ".join(run_facts(session, run)), " · ".join(parameter_texts(run)))
    lines = "".join(f'<p class="figures">{_escape(line)}</p>\n' for line in facts if line)
    prompt = _escape(prompt_to_editor(run.request.prompt))
    answers = "".join(
        f"<pre>{''.join(_tokens_to_html(choice))}</pre>\n"
        f'<p class="figures">{_escape(" · ".join(answer_figures(run, choice)))}</p>\n'
        for choice in run.ordered
    )
    error = f'<p class="figures">Error: {_escape(run.error.title)}</p>\n' if run.error is not None else ""
    return (
        f"<h2>{index + 1}. {_escape(run_title(run))}</h2>\n{lines}"
        f'<pre class="prompt">{prompt}</pre>\n{answers}{error}'
    )


def _tokens_to_html(choice: Choice) -> Iterator[str]:
    for index in range(len(choice)):
        text = _escape(choice.text_of(index))
        if not text:
            continue
        shade = level(choice, index, Mode.PROBABILITY)
        kind = "" if shade is None else f' class="l{shade}"'
        yield f'<span{kind} title="{_hover(choice, index)}">{text}</span>'


def _hover(choice: Choice, index: int) -> str:
    token = choice.token(index)
    own = visible(token.text) if token.raw is None else show_bytes(token.raw)
    lines = [f"{own!r} {_percent(token.logprob)}"]
    for other in token.alternatives:
        word = visible(other.text) if other.raw is None else show_bytes(other.raw)
        lines.append(f"{_percent(other.logprob)}  {word!r}")
    return escape("\n".join(lines), quote=True).replace("\n", "&#10;")


def _percent(logprob: float | None) -> str:
    return "—" if logprob is None else percent(exp(min(logprob, 0)))


def to_svg(run: Run) -> str:
    """Return an SVG of a run's answers in a monospaced font, each token on the background of its level."""
    boxes: list[str] = []
    row = column = 0
    for choice in run.ordered:
        for index in range(len(choice)):
            shade = level(choice, index, Mode.PROBABILITY) or 0
            hover = f"<title>{_hover(choice, index)}</title>"
            for part_number, part in enumerate(visible(choice.text_of(index)).expandtabs(4).split("\n")):
                if part_number:
                    row, column = row + 1, 0
                for start in range(0, len(part), _COLUMNS):
                    fragment = part[start : start + _COLUMNS]
                    if column + len(fragment) > _COLUMNS:
                        row, column = row + 1, 0
                    boxes.append(_box(row, column, fragment, shade, hover))
                    column += len(fragment)
        row, column = row + 2, 0
    height, width = 20 * (row + 1), 9 * (_COLUMNS + 2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="monospace" font-size="15"><rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "".join(boxes)
        + "</svg>\n"
    )


def _box(row: int, column: int, text: str, shade: int, hover: str) -> str:
    x, y, width = 9 + 9 * column, 10 + 20 * row, 9 * len(text)
    return (
        f'<g>{hover}<rect x="{x}" y="{y}" width="{width}" height="19" fill="{_PAPER[shade]}"/>'
        f'<text x="{x}" y="{y + 14}" fill="{_INK[shade]}" textLength="{width}" '
        f'xml:space="preserve">{_escape(text)}</text></g>\n'
    )
