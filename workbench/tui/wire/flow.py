"""Showing the last request as it went over the wire."""

from __future__ import annotations

from workbench.tui.flows import FlowContext
from workbench.tui.wire.copying import copy_request
from workbench.tui.wire.screen import Spot, WireScreen


async def wire(flow: FlowContext) -> None:
    """Show the last exchange at the event of the token under the cursor, which follows on coming back."""
    exchange, runs = flow.services.exchange, flow.workspace.runs
    if exchange is None:
        flow.app.notify("Nothing has been sent since the start.", title="Raw traffic", markup=False)
        return
    run, spot = exchange.run, None
    if (selected := runs.selected) is not None and selected.run is run:
        spot = Spot(selected.choice.index, selected.position)
    elif selected is not None:
        words = "Only the traffic of the last request is kept; this token is from another request."
        flow.app.notify(words, title="Raw traffic", markup=False)
    spot = await flow.ask(WireScreen(exchange, spot))
    if spot is not None:
        runs.select(run, run.choices[spot.choice], spot.token)


async def copy_as_curl(flow: FlowContext) -> None:
    """Copy the last request as a curl command."""
    copy_request(flow.app, flow.services.exchange, "curl")


async def copy_as_python(flow: FlowContext) -> None:
    """Copy the last request as a Python program."""
    copy_request(flow.app, flow.services.exchange, "python")
