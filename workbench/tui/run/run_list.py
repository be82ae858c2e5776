"""The list of all runs, and deleting a run."""

from __future__ import annotations

from workbench.domain.display import one_line, plural
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.domain.run_group import groups_of
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker
from workbench.workspace.run_state import figures_of

_BEGINNING = 40
"""The most characters of an answer in a list item."""
_SEARCHED = 1_000
"""The most characters searched of a prompt, and of an answer."""


def run_item(run: Run, title: str, settings: str = "") -> Item:
    """Return a list item for a run, with its preset, the beginning of its answer, its figures and model.

    `settings` is shown instead of the preset, if given.
    """
    choice = next(iter(run.ordered), None)
    # A token is hardly ever shorter than a character.
    answer = "" if choice is None else "".join(choice.texts(choice.echoed, choice.echoed + _SEARCHED))
    parts = (
        one_line(settings or run.preset, 40) or "—",
        one_line(answer, _BEGINNING) or "no text",
        figures_of(run),
        f"{one_line(run.endpoint, 24)} · {one_line(run.model or run.request.model, 24)}",
    )
    searched = (
        *(run.preset, run.endpoint, run.model),
        prompt_to_editor(run.request.prompt)[-_SEARCHED:],
        answer[:_SEARCHED],
    )
    return Item(run.id, title, " · ".join(parts), text=" ".join(searched))


async def run_list(flow: FlowContext) -> None:
    """List all runs, newest first, and select the one chosen."""
    runs, answer = flow.workspace.runs, flow.workspace.runs.answer
    numbered = [(f"{number} {one_line(run.name, 30)}".rstrip(), run) for number, run in enumerate(runs, 1)]
    groups = groups_of(runs)
    items = [
        run_item(run, title, groups[run.group].settings_of(run) if run.group in groups else "")
        for title, run in reversed(numbered)
    ]
    chosen = await flow.ask(Picker("Runs", items, chosen=answer[0].id if answer is not None else ""))
    if (run := next((run for run in runs if run.id == chosen), None)) is not None:
        runs.select(run)


async def delete_run(flow: FlowContext) -> None:
    """Delete the run or comparison under the cursor, else the newest run; undo restores it."""
    runs = flow.workspace.runs
    if not runs:
        return
    if (group := runs.selected_group) is not None:
        deleted, title = group.runs, f"the {group.about}"
    else:
        run = runs[-1] if runs.selected is None else runs.selected.run
        deleted, title = [run], f"run {runs.index(run) + 1}"
    runs.remove(deleted, f"the deletion of {title}")
    key, them = flow.commands["undo"].first_key, "it" if len(deleted) == 1 else "them"
    flow.app.notify(f"{plural(len(deleted), 'run')} deleted; {key} restores {them}.", timeout=3)
