"""Score a text: find out how likely a model finds each of its tokens."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from workbench.domain.display import plural
from workbench.domain.errors import BadValueError
from workbench.domain.figures import bits_per_byte
from workbench.domain.prompt import Prompt, TextPrompt
from workbench.domain.scoring import SecondScoring
from workbench.runner.branching import branch_from, end_of
from workbench.runner.compare_plan import SavedRun
from workbench.runner.score_text import aligned_runs, plan_one_token_scoring, score_answer, scoring_request
from workbench.storage.files import read_text
from workbench.tui.compare.flow import compare_saved
from workbench.tui.endpoints.flow import ask_target
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.question import LinePopup, typed_path
from workbench.tui.run.flow import send
from workbench.workspace.activity import Activity
from workbench.workspace.costs import cost_of


async def score(flow: FlowContext) -> None:
    """Choose a text, and send it as a prompt whose logprobs are returned."""
    if (prompt := await _text_to_score(flow)) is not None:
        await send(flow, scoring_request(prompt, flow.workspace.drafting.requested_model, _top(flow)))


async def score_by_tokens(flow: FlowContext) -> None:
    """Choose a text, and score each of its tokens by a request for one token."""
    if (prompt := await _text_to_score(flow)) is None:
        return
    drafting = flow.workspace.drafting
    endpoint = drafting.endpoint
    plan = await plan_one_token_scoring(flow.services.connections, endpoint, prompt)
    sent = plan.run(endpoint, drafting.requested_model, _top(flow))
    cost = cost_of(endpoint, sent.request, sent.split)
    question = f"A request for one token after each token of the text. {cost}"
    if not await flow.confirmed(question, "send", "cancel"):
        return
    flow.release()
    count, key = plural(cost.requests, "one-token request"), flow.commands["stop"].first_key
    flow.app.notify(f"{count}; {key} stops them", title="Scoring")
    ended = asyncio.Event()
    sending = Activity(flow.services, lambda run: ended.set())
    async with flow.running(sending):
        sending.start(sent, endpoint)
        await ended.wait()
    if sent.choices or sent.error is not None:
        flow.workspace.runs.keep_compared(plan.scored(sent))


def _top(flow: FlowContext) -> int:
    """Return the number of alternatives to request per token."""
    given = flow.workspace.drafting.requested_parameters.get("logprobs")
    return given if isinstance(given, int) and given else 5


async def _text_to_score(flow: FlowContext) -> Prompt | None:
    """Ask for the text to score; None if cancelled. Raises BadValueError or StorageError."""
    answer = flow.workspace.runs.answer
    items = [Item("prompt", "the prompt", "as it is in the editor")]
    if answer is not None and not answer[0].is_running:
        items.append(Item("answer", "the answer under the cursor", "after its prompt"))
    items.append(Item("file", "a file…", "the whole text"))
    match await flow.ask(Picker("Score", items)):
        case "prompt":
            return flow.workspace.prompt
        case "answer" if answer is not None:
            return branch_from(end_of(*answer)).prompt
        case "file":
            if (typed := await flow.ask(LinePopup("Score the file", ""))) is None:
                return None
            text = await asyncio.to_thread(read_text, typed_path(typed))
            if not text:
                raise BadValueError("The file is empty", hint="Name a file that has text.")
            return TextPrompt(text)
    return None


async def score_elsewhere(flow: FlowContext) -> None:
    """Score the answer under the cursor with another model, and compare the two models' logprobs.

    Raises BadValueError if no finished answer is under the cursor.
    """
    answer = flow.workspace.runs.answer
    if answer is None or answer[0].is_running:
        raise BadValueError("No answer is under the cursor", hint="Select a finished answer.")
    run, choice = answer
    if (target := await ask_target(flow)) is None:
        return
    endpoint, model = target
    if not await flow.agreed(cost_of(endpoint, scoring_request(run.request.prompt, model))):
        return
    own, other = await score_answer(flow.services.connections, endpoint, run, choice, model=model)
    second = SecondScoring.of(own, other, endpoint.name)
    flow.workspace.runs.show_scoring(second)
    first_run, second_run = aligned_runs(run, own, other)
    request = run.request._replace(model=model or endpoint.model)
    second_run = replace(second_run, request=request, endpoint=endpoint.name, model=request.model)
    figures = " · ".join(
        f"{title} {bits:.3f} bits/byte"
        for title, scored in (("own", first_run), ("other", second_run))
        if (bits := bits_per_byte(scored.ordered[0], range(len(scored.ordered[0])))) is not None
    )
    saved = [SavedRun("own model", first_run), SavedRun("other model", second_run)]
    await compare_saved(flow, saved, [figures], second)
