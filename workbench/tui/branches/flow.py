"""Branching from a token, continuing an answer, and going through a session's branches and choices."""

from __future__ import annotations

from workbench.domain.choice import Alternative, Choice
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.branching import Origin, branch_from, end_of, origin_of
from workbench.runner.joints import tokenizer_of, with_token_ids
from workbench.tui.flows import FlowContext
from workbench.tui.running.flow import send
from workbench.tui.screens.choices import ChoicesScreen
from workbench.tui.screens.tree import TreeScreen


async def branch(flow: FlowContext, run: Run, choice: Choice, position: int, taken: Alternative) -> None:
    """Send a branch with an alternative in a token's place."""
    await send_branch(flow, origin_of(run, choice, position, taken))


async def send_branch(flow: FlowContext, origin: Origin) -> None:
    """Send a branch under the panel's parameters; undo takes its run out of the session.

    Raises BadValueError for a value that the endpoint would refuse.
    """
    if (run := await _send_from(flow, origin)) is not None:
        flow.main.note_branch(run, "the branch")


async def continue_answer(flow: FlowContext) -> None:
    """Append the answer to the prompt and send it, so that the model continues; undo takes both back."""
    if (answer := flow.main.output.answer) is None:
        return
    origin = end_of(*answer)
    if (run := await _send_from(flow, origin)) is None:
        return
    before = flow.main.draft
    is_text = isinstance(origin.prompt, TextPrompt)
    flow.main.prompt.set_prompt(branch_from(origin).prompt if is_text else run.request.prompt)
    flow.main.note_branch(run, "the answer that joined the prompt", before)


async def _send_from(flow: FlowContext, origin: Origin) -> Run | None:
    endpoint = flow.main.endpoint
    if flow.main.sends_ids and not endpoint.sends_ids:
        hint = "Choose another endpoint, or send branches as text."
        raise BadValueError(f"{one_line(endpoint.name, 40)} takes no token ids", hint=hint, field="prompt")
    lacks_ids = any(one.id is None for one in origin.generated)
    if flow.main.sends_ids or (isinstance(origin.prompt, TokensPrompt) and lacks_ids and endpoint.tokenizer):
        tokenize = tokenizer_of(flow.services.connections, endpoint)
        branch = await with_token_ids(origin, tokenize)
    else:
        branch = branch_from(origin)
    request = Request(branch.prompt, flow.main.asked_model, flow.main.parameters.parameters)
    return await send(flow, request, branch)


async def branch_ids(flow: FlowContext) -> None:
    """Send branches as token ids from now on, or as text again."""
    flow.main.sends_ids = not flow.main.sends_ids
    words = "token ids, so that every token stays as it was" if flow.main.sends_ids else "text"
    flow.app.notify(f"Branches are sent as {words}.", markup=False, timeout=4)


async def branch_tree(flow: FlowContext) -> None:
    """Show all runs as a tree of branches, and go to the one chosen."""
    answer = flow.main.output.answer
    run = await flow.ask(TreeScreen(flow.main, answer[0] if answer is not None else None))
    if run is not None:
        flow.main.output.go_to(run)


async def choices(flow: FlowContext) -> None:
    """Show the choices of a run beside each other, and go to the one chosen."""
    if (answer := flow.main.output.answer) is None:
        return
    run, current = answer
    number = flow.main.output.runs.index(run) + 1
    if len(run.choices) < 2:
        raise BadValueError(f"Run {number} has one choice", hint="Set n in the panel to get several.")
    choice = await flow.ask(ChoicesScreen(run, number, current))
    if choice is not None:
        flow.main.output.go_to(run, choice)
