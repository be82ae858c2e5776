"""Branch from a token, continue an answer, and browse the session's runs, branches and choices."""

from __future__ import annotations

from functools import partial

from workbench.domain.choice import Alternative, Choice
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.branching import Origin, branch_from, end_of, origin_of, with_token_ids
from workbench.tui.branches.branch_tree import TreeScreen
from workbench.tui.branches.choices_screen import ChoicesScreen
from workbench.tui.flows import FlowContext, load_flow
from workbench.tui.run.flow import send


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
