"""Send the draft or another request, after confirming its cost."""

from __future__ import annotations

import random

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint, unknown_endpoint
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.split import parts_of
from workbench.runner.branching import Branch
from workbench.runner.split_run import Quirks, offer_split
from workbench.storage.probes import load_probe
from workbench.tui.flows import FlowContext
from workbench.tui.popups.question import Question
from workbench.workspace.costs import cost_of


async def run(flow: FlowContext) -> None:
    """Send the draft. Raises BadValueError if a value is not allowed."""
    await send(flow, flow.workspace.request)


async def run_again(flow: FlowContext) -> None:
    """Send the draft with a fresh seed; a pinned seed stays in the panel."""
    request = flow.workspace.request
    request = request._replace(parameters=request.parameters.set("seed", random.getrandbits(31)))
    await send(flow, request, added=("seed",))


async def send(
    flow: FlowContext, request: Request, branch: Branch | None = None, added: tuple[str, ...] = ()
) -> Run | None:
    """Send a request, after asking whether to send several instead and whether its cost is meant.

    `added` names parameters that the user did not set. Returns its run; None if the person declined. Raises
    BadValueError if a value is not allowed, before anything is asked.
    """
    endpoint = flow.workspace.drafting.endpoint
    if not endpoint.base_url:
        raise unknown_endpoint(endpoint.name)
    cost = cost_of(endpoint, request)
    probe = load_probe(flow.services.folders, endpoint.name) if request.choices > 1 else None
    offer = offer_split(endpoint, request, Quirks(probe, flow.workspace.runs.known_split(request, endpoint)))
    if offer is not None:
        _check(endpoint, parts_of(request, offer.split)[0].request)
        question = (
            f"{one_line(endpoint.name, 40)} may not answer this in one request: {offer.reason}.\n"
            f"{offer.requests} requests can be sent instead and shown as one run. {offer.cost}"
        )
        if flow.must_confirm(cost):
            question = f"{question}\n{cost_of(endpoint, request, offer.split)}"
        answer = await flow.ask(Question(question, f"send {offer.requests} requests", "send as one request"))
        if answer is None:
            return None
        if answer:
            return flow.workspace.send(request, branch, offer.split, added=added)
    _check(endpoint, request)
    if not await flow.agreed(cost):
        return None
    return flow.workspace.send(request, branch, None, added=added)


def _check(endpoint: Endpoint, request: Request) -> None:
    if not endpoint.lenient:
        for problem in request.parameters.problems(endpoint.limits):
            raise problem
