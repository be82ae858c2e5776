"""The transcript sections of runs: one per choice, and one for a run without choices."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix

from msgspec.structs import replace

from workbench.domain.choice import Choice
from workbench.domain.colour_modes import fitted
from workbench.domain.display import one_line, visible
from workbench.domain.parameters import Change
from workbench.domain.prompt import TextPrompt, TokensPrompt, prompt_to_editor
from workbench.domain.run import Outcome, Run
from workbench.domain.run_group import RunGroup
from workbench.tui.tokens.transcript import Section
from workbench.workspace.run_state import figures_of

_KNOWN = 40
"""Characters shown of the part of a prompt that is in the section above too."""
_LINES = 6
"""Lines shown of a long prompt."""
_LONGEST = 2_000
"""The most characters shown of a prompt."""


def key_of(run: Run, choice: int) -> str:
    """Return the key of a choice's section."""
    return f"{run.id}:{choice}"


def group_key(group: RunGroup) -> str:
    """Return the key of the header of a comparison, a sweep or a prompt set."""
    return f"group:{group.id}"


def group_section(group: RunGroup, numbers: str, *, folded: bool, is_current: bool) -> Section:
    """Return the header of a group of runs; `numbers` is their range, such as `3–5`."""
    title = f"{'▸' if folded else '▾'} {numbers} · {group.about} · {group.summary}"
    return Section(group_key(group), title, emphasis="current" if is_current else "strong")


def sections_of(
    runs: Sequence[Run], index: int, dimmed: bool = False, before: int | None = None
) -> list[Section]:
    """Return the sections of the run at an index among the runs of its session.

    `before` is the index of the run shown above it, negative if there is none; by default the previous run.
    """
    run = runs[index]
    before = index - 1 if before is None else before
    above = runs[before] if before >= 0 else None
    title = _title(runs, index, above)
    text_above = _text_of(runs, above) if above is not None else ""
    if not run.choices:
        prompt = _seen(prompt_to_editor(run.request.prompt), text_above)
        figures = _notes(run)
        if run.outcome is Outcome.ERROR and run.error is not None:
            figures.insert(0, visible(f"✗ {run.error.title}"))
        return [Section(key_of(run, 0), _ended(title, run), prompt, None, "\n".join(figures), dimmed)]
    sections = [_section(runs, run, choice, title, text_above) for choice in run.ordered]
    return [replace(section, dimmed=True) for section in sections] if dimmed else sections


def _section(runs: Sequence[Run], run: Run, choice: Choice, title: str, text_above: str) -> Section:
    # The length of the echo is known only at the end of the run.
    echoes = choice.echoed or (run.is_running and run.request.parameters.echoes)
    text = "" if echoes else shown_prompt(runs, run, choice)
    is_first = choice is run.ordered[0]
    before = text_above if is_first else shown_prompt(runs, run, run.ordered[0])
    if run.request.choices > 1:
        title = f"{title} · choice {choice.index + 1} of {run.request.choices}"
    is_last = choice is run.ordered[-1]
    return Section(
        key_of(run, choice.index),
        _ended(title, run, choice.index),
        _seen(text, before),
        choice,
        "\n".join(_notes(run)) if is_last else "",
        scale=fitted(run.request.parameters),
    )


def _ended(title: str, run: Run, choice: int | None = None) -> str:
    """Return a title, with the figures of a completed run or of one of its choices."""
    return title if run.is_running else f"{title} · {figures_of(run, choice)}"


def _text_of(runs: Sequence[Run], run: Run) -> str:
    """Return the prompt of a run as text; of its last choice if it has several."""
    if not run.choices:
        return prompt_to_editor(run.request.prompt)
    return shown_prompt(runs, run, run.ordered[-1])


def _seen(prompt: str, before: str) -> str:
    """Shorten a prompt shown below another to the part from where they diverge, and a long one to its end."""
    start = len(commonprefix([before, prompt])) - _KNOWN  # noqa: RUF071
    if start > 0:
        # Cut at a space if there is one nearby.
        start = max(prompt.find(" ", start, start + _KNOWN // 2), start)
        prompt = f"…{prompt[start:]}"
    lines = prompt.split("\n")
    if len(lines) > _LINES + 1:
        folded = len(lines) - _LINES
        prompt = "\n".join([f"… {folded:,} lines above", *lines[folded:]])
    return prompt if len(prompt) <= _LONGEST else f"…{prompt[-_LONGEST:]}"


def shown_prompt(runs: Sequence[Run], run: Run, choice: Choice) -> str:
    """Return the prompt of a choice, as text even if a branch sent it as token ids."""
    own = prompt = run.prompt_of(choice)
    if isinstance(own, TextPrompt):
        return own.text
    parts: list[str] = []
    # Each run is used once, as the parents in a damaged file may form a cycle.
    left = {other.id: other for other in runs}
    while isinstance(prompt, TokensPrompt) and (parent := run.parent) is not None:
        found = left.pop(parent.run, None)
        shared = found.choices.get(parent.choice) if found is not None else None
        if found is None or shared is None:
            break
        parts.append("".join(shared.texts(shared.echoed, parent.token)) + parent.alternative)
        run, prompt = found, found.prompt_of(shared)
    if isinstance(prompt, TextPrompt):
        return prompt.text + "".join(reversed(parts))
    return prompt_to_editor(own)


def _notes(run: Run) -> list[str]:
    """Return the notes on a completed run, as lines."""
    return [] if run.is_running else [f"! {one_line(note)}" for note in run.notes]


def _title(runs: Sequence[Run], index: int, compared: Run | None) -> str:
    """Return the run's number, its origin, and its changes to its parent, or else to the run `compared`."""
    run = runs[index]
    parts = [f"── {index + 1}"]
    origin: int | None = None
    if (parent := run.parent) is not None:
        origin = next((number for number, other in enumerate(runs) if other.id == parent.run), None)
        compared = runs[origin] if origin is not None else compared
        of = f" of {origin + 1}" if origin is not None else ""
        where = f" at token {parent.token + 1}" if parent.kind == "branch" else ""
        taken = f" with {one_line(repr(parent.alternative), 30)}" if parent.alternative else ""
        parts.append(f"{parent.kind}{of}{where}{taken}")
    parts += [one_line(name, 40) for name in (run.name, run.preset) if name]
    changed: tuple[Change, ...] = ()
    # With another preset, its name says more than a list of all the changes.
    if compared is not None and (origin is not None or run.preset == compared.preset):
        changed = compared.request.parameters.changes_to(run.request.parameters)
    # A change of the seed is not listed: the seed that was used is shown instead.
    seed = run.request.parameters.get("seed")
    parts += [one_line(str(change), 60) for change in changed if seed is None or change.name != "seed"]
    if seed is not None:
        parts.append(f"seed {seed}")
    if compared is not None and compared.endpoint != run.endpoint:
        parts.append(f"@ {one_line(run.endpoint, 40)}")
    return " · ".join(parts)
