"""Runs as the sections of a transcript: one for each choice, one for a run of which nothing came yet."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, visible
from workbench.domain.prompt import TextPrompt, TokensPrompt, prompt_to_editor
from workbench.domain.reading import fitted
from workbench.domain.run import Outcome, Run
from workbench.runner.branching import prompt_of_choice
from workbench.tui.run_state import figures_of
from workbench.tui.transcript import Section


def key_of(run: Run, choice: int) -> str:
    """The key of a choice's section."""
    return f"{run.id}:{choice}"


def sections_of(runs: Sequence[Run], place: int, dimmed: bool = False) -> list[Section]:
    """The sections of the run at a place among the runs of its session."""
    run, before = runs[place], runs[place - 1] if place else None
    title = _title(run, place + 1, before)
    if not run.choices:
        prompt = prompt_to_editor(run.request.prompt)
        return [Section(key_of(run, 0), title, prompt, None, _ending(run), dimmed)]
    return [_section(runs, run, choice, title, dimmed) for choice in run.ordered]


def _section(runs: Sequence[Run], run: Run, choice: Choice, title: str, dimmed: bool) -> Section:
    # While an echo comes, nobody has looked yet how much of it there is.
    echoes = choice.echoed or (run.is_running and run.request.parameters.extra.get("echo") is True)
    prompt = "" if echoes else shown_prompt(runs, run, choice)
    figures = "" if run.is_running else figures_of(run, choice.index)
    if figures and choice is run.ordered[-1]:
        figures = "\n".join([figures, *_notes(run)])
    if run.request.choices > 1:
        title = f"{title} · choice {choice.index + 1} of {run.request.choices}"
    scale = fitted(run.request.parameters)
    return Section(key_of(run, choice.index), title, prompt, choice, figures, dimmed, scale=scale)


def shown_prompt(runs: Sequence[Run], run: Run, choice: Choice) -> str:
    """The prompt that a choice answers, as text also where a branch sent it as token ids."""
    own = prompt = prompt_of_choice(run, choice)
    if isinstance(own, TextPrompt):
        return own.text
    parts: list[str] = []
    # Only a damaged file holds a circle of parents.
    left = {one.id: one for one in runs}
    while isinstance(prompt, TokensPrompt) and (parent := run.parent) is not None:
        found = left.pop(parent.run, None)
        shared = found.choices.get(parent.choice) if found is not None else None
        if found is None or shared is None:
            break
        parts.append("".join(shared.texts(shared.echoed, parent.token)) + parent.alternative)
        run, prompt = found, prompt_of_choice(found, shared)
    if isinstance(prompt, TextPrompt):
        return prompt.text + "".join(reversed(parts))
    return prompt_to_editor(own)


def _notes(run: Run) -> list[str]:
    """What a person should know of the answer, said once below it."""
    return [f"! {one_line(note)}" for note in run.notes]


def _title(run: Run, number: int, before: Run | None) -> str:
    """The run's number and what makes it differ from the one before."""
    parts = [f"── {number}"]
    if (parent := run.parent) is not None:
        where = f" at token {parent.token + 1}" if parent.kind == "branch" else ""
        taken = f" with {one_line(repr(parent.alternative), 30)}" if parent.alternative else ""
        parts.append(f"{parent.kind}{where}{taken}")
    if run.name:
        parts.append(one_line(run.name, 40))
    if before is not None:
        changes = before.request.parameters.changes_to(run.request.parameters)
        parts += [one_line(str(change), 60) for change in changes]
        if before.endpoint != run.endpoint:
            parts.append(f"@ {one_line(run.endpoint, 40)}")
    return " · ".join(parts)


def _ending(run: Run) -> str:
    if run.outcome is Outcome.ERROR and run.error is not None:
        return "\n".join([visible(f"✗ {run.error.title}"), *_notes(run)])
    return "" if run.is_running else "\n".join([figures_of(run), *_notes(run)])
