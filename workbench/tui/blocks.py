"""Runs as the sections of a transcript: one for each choice, one for a run of which nothing came yet."""

from __future__ import annotations

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, visible
from workbench.domain.prompt import Prompt, prompt_to_editor
from workbench.domain.run import Outcome, Run
from workbench.runner.branching import prompt_of_choice
from workbench.tui.run_state import figures_of
from workbench.tui.transcript import Section


def key_of(run: Run, choice: int) -> str:
    """The key of a choice's section."""
    return f"{run.id}:{choice}"


def sections_of(run: Run, number: int, dimmed: bool = False) -> list[Section]:
    """The sections of a run, the `number`-th of its session."""
    if not run.choices:
        figures = _ending(run)
        return [Section(key_of(run, 0), _title(run, number), _prompt(run.request.prompt), None, figures, dimmed)]
    return [_section(run, choice, number, dimmed) for choice in run.ordered]


def _section(run: Run, choice: Choice, number: int, dimmed: bool) -> Section:
    prompt = "" if choice.echoed else _prompt(prompt_of_choice(run, choice))
    figures = "" if run.is_running else figures_of(run, choice.index)
    return Section(key_of(run, choice.index), _title(run, number, choice.index), prompt, choice, figures, dimmed)


def _prompt(prompt: Prompt) -> str:
    return prompt_to_editor(prompt)


def _title(run: Run, number: int, choice: int = 0) -> str:
    parts = [f"── {number}"]
    if run.request.choices > 1:
        parts.append(f"choice {choice + 1} of {run.request.choices}")
    if (parent := run.parent) is not None:
        where = f" at token {parent.token + 1}" if parent.kind == "branch" else ""
        taken = f" with {one_line(repr(parent.alternative), 30)}" if parent.alternative else ""
        parts.append(f"{parent.kind}{where}{taken}")
    if run.name:
        parts.append(one_line(run.name, 40))
    return " · ".join(parts)


def _ending(run: Run) -> str:
    if run.outcome is Outcome.ERROR and run.error is not None:
        return visible(f"✗ {run.error.title}")
    return "" if run.is_running else figures_of(run)
