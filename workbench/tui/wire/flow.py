"""Show the raw traffic of the last request, or copy the request as a command or program."""

from __future__ import annotations

import json

from workbench.domain.errors import BadValueError
from workbench.runner.export_formats import export_request, export_run
from workbench.storage.endpoint_list import endpoint_for
from workbench.tui.flows import FlowContext
from workbench.tui.wire.screen import Spot, WireScreen


async def wire(flow: FlowContext) -> None:
    """Show the last exchange at the event of the token under the cursor; then select the event's token."""
    exchange, runs = flow.services.exchange, flow.workspace.runs
    if exchange is None:
        flow.app.notify("Nothing has been sent since the start.", title="Raw traffic")
        return
    run, spot = exchange.run, None
    if (selected := runs.selected) is not None and selected.run is run:
        spot = Spot(selected.choice.index, selected.position)
    elif selected is not None:
        message = "Only the traffic of the last request is kept; this token is from another request."
        flow.app.notify(message, title="Raw traffic")
    spot = await flow.ask(WireScreen(exchange, spot))
    if spot is not None:
        runs.select(run, run.choices[spot.choice], spot.token)


async def copy_as_curl(flow: FlowContext) -> None:
    """Copy the last request as a curl command. Raises BadValueError if there is none."""
    _copy(flow, "curl")


async def copy_as_python(flow: FlowContext) -> None:
    """Copy the last request as a Python program. Raises BadValueError if there is none."""
    _copy(flow, "python")


def _copy(flow: FlowContext, form: str) -> None:
    """Copy the request sent last, else the one of the newest saved run.

    Raises BadValueError if there is neither, or if the run's endpoint no longer exists.
    """
    exchange, runs = flow.services.exchange, flow.workspace.runs
    if exchange is not None and exchange.wire.body:
        wire = exchange.wire
        request = export_request(form, json.loads(wire.body), exchange.endpoint, wire.url)
    elif exchange is None and runs:
        endpoint = endpoint_for(runs[-1].endpoint, None, flow.services.endpoints)
        request = export_run(form, runs[-1], endpoint, runs[-1].bodies[:1])[0]
    else:
        raise BadValueError("Nothing has been sent since the start", hint="Run something first.")
    flow.app.copy_to_clipboard(request.text)
    if request.note:
        flow.app.notify(request.note, timeout=8)
