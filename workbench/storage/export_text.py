"""Export sessions as Markdown, plain text and JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from workbench.domain.choice import Choice
from workbench.domain.display import plural, visible
from workbench.domain.figures import completion_tokens
from workbench.domain.measures import summarise
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.toml_text import sound


def chat_to_markdown(session: Session) -> str:
    """Return the shown turns as Markdown; empty if there are none."""
    turns = session.chat.turns
    path, branches = turns.path(), turns.branch_counts()
    if not path:
        return ""
    runs = {run.id: run for run in session.runs}
    lines = ["\n## Conversation\n"]
    if session.chat.template:
        lines.append(f"\nTemplate {inline(session.chat.template)}\n")
    if session.chat.system:
        lines.append(f"\n### System\n\n{fenced(session.chat.system)}\n")
    if session.variables:
        values = " · ".join(code(f"{name} = {value}") for name, value in session.variables.items())
        lines.append(f"\nVariables {values}\n")
    for number, turn in enumerate(path, 1):
        branch = ["branch {} of {}".format(*branches[turn.id])] if turn.id in branches else []
        about = [*branch, *_figures(runs.get(turn.run))]
        facts = f"\n{' · '.join(about)}\n" if about else ""
        lines.append(f"\n### {number}. {inline(turn.role)}\n{facts}\n{fenced(turn.text)}\n")
    if left := len(turns.all) - len(path):
        lines.append(f"\nIn other branches: {plural(left, 'more turn')}; their runs are below.\n")
    return "".join(lines)


def _figures(run: Run | None) -> Iterator[str]:
    if run is not None:
        if model := run.model or run.request.model:
            yield inline(model)
        if run.preset:
            yield f"preset {inline(run.preset)}"
        if run.outcome is not None:
            yield run.outcome.value
        yield f"{completion_tokens(run)} tokens"
        yield f"run {run.id[:8]}"
        yield from map(inline, run.notes)


def inline(text: str) -> str:
    """Return a text as one line of Markdown, with markup escaped."""
    return re.sub(r"([\\`*_\[\]<>#|~!])", r"\\\1", visible(" ".join(text.split())))


def code(text: str) -> str:
    """Return a text as Markdown inline code."""
    text = visible(" ".join(text.split()))
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks} {text} {ticks}"


def fenced(text: str) -> str:
    """Return a text as a Markdown code block with a fence longer than any in the text."""
    fence = "`" * max(_longest(text) + 1, 3)
    return f"{fence}text\n{visible(text)}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def to_text(session: Session) -> str:
    """Return the prompts and answers only."""
    answers = ((run, choice) for run in session.runs for choice in run.ordered)
    return sound(
        "\n".join(f"{prompt_to_editor(run.request.prompt)}{choice.text}\n" for run, choice in answers)
    )


def to_markdown(session: Session) -> str:
    """Return the session as Markdown: the conversation, and each run's prompt, parameters and answers."""
    lines = [f"# {inline(session.title) or 'Untitled session'}\n", chat_to_markdown(session)]
    for number, run in enumerate(session.runs, 1):
        lines.append(f"\n## {number}. {inline(run_title(run))}\n")
        lines.append(f"\n{' · '.join(map(inline, run_facts(session, run)))}\n")
        if values := parameter_texts(run):
            lines.append("\n" + " · ".join(map(code, values)) + "\n")
        lines.append(f"\n**Prompt**\n\n{fenced(prompt_to_editor(run.request.prompt))}\n")
        for choice in run.ordered:
            name, *figures = map(inline, answer_figures(run, choice))
            lines.append(f"\n**{name}** ({' · '.join(figures)})\n\n{fenced(choice.text)}\n")
        if run.error is not None:
            lines.append(f"\n**Error** {code(inline(run.error.title))}\n")
    return "".join(lines)


def run_title(run: Run) -> str:
    """Return a run's name, else its model."""
    return run.name or run.model or run.request.model or "run"


def run_facts(session: Session, run: Run) -> list[str]:
    """Return a run's start time, endpoint, model, preset, origin and outcome, as far as known."""
    facts = [f"{run.started:%Y-%m-%d %H:%M:%S} UTC", run.endpoint, run.model or run.request.model]
    if run.preset:
        facts.append(f"preset {run.preset}")
    numbers = {other.id: number for number, other in enumerate(session.runs, 1)}
    if run.parent is not None and (number := numbers.get(run.parent.run)) is not None:
        where = "" if run.parent.is_rerun else f" at token {run.parent.token + 1}"
        facts.append(f"{_ORIGINS.get(run.parent.kind, 'branched from')} run {number}{where}")
    return [fact for fact in (*facts, run.outcome or "") if fact]


_ORIGINS = {
    "rerun": "re-run of",
    "blessed": "re-run of",
    "again": "regenerated from",
    "continue": "continues",
}


def parameter_texts(run: Run) -> list[str]:
    """Return the set parameters as `temperature = 0.2`."""
    values = run.request.parameters.to_json().items()
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values]


def answer_figures(run: Run, choice: Choice) -> list[str]:
    """Return an answer's number, finish reason and known figures."""
    summary = summarise(run, choice)
    figures = [
        f"Answer {choice.index + 1}",
        choice.finish_reason or "no finish reason",
        plural(summary.tokens, "token"),
    ]
    if summary.tokens_per_second is not None:
        figures.append(f"{summary.tokens_per_second:.0f} tok/s")
    if summary.perplexity is not None:
        figures.append(f"perplexity {summary.perplexity:.2f}")
    return figures
