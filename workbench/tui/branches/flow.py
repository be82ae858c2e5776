"""Branch from a token, continue an answer, and browse the session's runs, branches and choices."""

from __future__ import annotations

from functools import partial

from workbench.domain.choice import Alternative, Choice
from workbench.domain.display import one_line, plural
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TokensPrompt, prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.run_group import groups_of
from workbench.runner.branching import Origin, branch_from, end_of, origin_of, with_token_ids
from workbench.tui.branches.branch_tree import TreeScreen
from workbench.tui.branches.choices_screen import ChoicesScreen
from workbench.tui.flows import FlowContext, load_flow
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.run.flow import send
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


async def branch(flow: FlowContext, run: Run, choice: Choice, position: int, taken: Alternative) -> None:
    """Send a branch that replaces a token by an alternative. Raises the errors of `send_branch`."""
    await send_branch(flow, origin_of(run, choice, position, taken))


async def send_branch(flow: FlowContext, origin: Origin) -> None:
    """Send a branch with the current settings; undo removes its run.

    Raises BadValueError for a value that the endpoint does not allow.
    """
    if (run := await _send_from(flow, origin)) is not None:
        flow.workspace.note_branch(run, "the branch")


async def continue_answer(flow: FlowContext) -> None:
    """Append the answer to the prompt and send it; undo reverts both. Opens a comparison or grid instead.

    Raises BadValueError for a value that the endpoint does not allow.
    """
    if (group := flow.workspace.runs.selected_group) is not None:
        await load_flow("grid.flow:reopen")(flow, group)
        return
    if (answer := flow.workspace.runs.one_answer()) is None:
        return
    origin = end_of(*answer)
    if (run := await _send_from(flow, origin)) is None:
        return
    is_text = isinstance(origin.prompt, TextPrompt)
    prompt = branch_from(origin).prompt if is_text else run.request.prompt
    flow.workspace.note_branch(run, "the answer appended to the prompt", prompt)


async def _send_from(flow: FlowContext, origin: Origin) -> Run | None:
    drafting = flow.workspace.drafting
    endpoint = drafting.endpoint
    if flow.workspace.sends_ids and not endpoint.sends_ids:
        hint = "Choose another endpoint, or send branches as text."
        raise BadValueError(f"{one_line(endpoint.name, 40)} takes no token ids", hint=hint, field="prompt")
    lacks_ids = any(token.id is None for token in origin.generated)
    if flow.workspace.sends_ids or (
        isinstance(origin.prompt, TokensPrompt) and lacks_ids and endpoint.tokenizer
    ):
        tokenize = partial(flow.services.connections.tokenize, endpoint)
        branch = await with_token_ids(origin, tokenize)
    else:
        branch = branch_from(origin)
    request = Request(branch.prompt, drafting.requested_model, drafting.requested_parameters)
    return await send(flow, request, branch)


async def branch_ids(flow: FlowContext) -> None:
    """Switch between sending branches as token ids and as text."""
    flow.workspace.sends_ids = not flow.workspace.sends_ids
    form = "token ids, so that every token stays as it was" if flow.workspace.sends_ids else "text"
    flow.app.notify(f"Branches are sent as {form}.", timeout=4)


async def branch_tree(flow: FlowContext) -> None:
    """Show all runs as a tree of branches, and select the one chosen."""
    answer = flow.workspace.runs.answer
    run = await flow.ask(TreeScreen(flow.workspace, answer[0] if answer is not None else None))
    if run is not None:
        flow.workspace.runs.select(run)


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


async def choices(flow: FlowContext) -> None:
    """List the choices of a run, and select the one chosen. Raises BadValueError if it has only one."""
    if (answer := flow.workspace.runs.one_answer()) is None:
        return
    run, current = answer
    number = flow.workspace.runs.index(run) + 1
    if len(run.choices) < 2:
        raise BadValueError(f"Run {number} has one choice", hint="Set n in the panel to get several.")
    choice = await flow.ask(ChoicesScreen(run, number, current))
    if choice is not None:
        flow.workspace.runs.select(run, choice)


async def delete_run(flow: FlowContext) -> None:
    """Delete the run or comparison under the cursor, else the newest run; undo restores it."""
    runs = flow.workspace.runs
    if not runs:
        return
    if (group := runs.selected_group) is not None:
        runs.remove(group.runs, f"the deletion of the {group.about}")
        flow.app.notify(f"{plural(len(group.runs), 'run')} deleted; u restores them.", timeout=3)
        return
    run = runs[-1] if runs.selected is None else runs.selected.run
    runs.remove([run], f"the deletion of run {runs.index(run) + 1}")
    flow.app.notify("Run deleted; u restores it.", timeout=3)
