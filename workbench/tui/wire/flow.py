"""Showing the last request as it went over the wire."""

from __future__ import annotations

from contextlib import suppress

from workbench.tui.flows import FlowContext
from workbench.tui.wire.copying import copy_request
from workbench.tui.wire.screen import Spot, WireScreen


async def wire(flow: FlowContext) -> None:
    """Show the last exchange at the event of the token under the cursor, which follows on coming back."""
    exchange, output = flow.services.exchange, flow.main.output
    if exchange is None:
        flow.app.notify("Nothing has been sent since the start.", title="Raw traffic", markup=False)
        return
    run, highlighted = exchange.run, output.token
    spot = None
    if highlighted is not None and highlighted[0] is run:
        spot = Spot(highlighted[1].index, highlighted[2])
    elif highlighted is not None:
        words = "Only the traffic of the last request is kept; this token is from another request."
        flow.app.notify(words, title="Raw traffic", markup=False)
    spot = await flow.ask(WireScreen(exchange, spot))
    if spot is not None and run in output.runs:
        # The token may still be on its way from the store to the view.
        with suppress(KeyError):
            output.view.move_cursor(f"{run.id}:{spot.choice}", spot.token)


async def copy_as_curl(flow: FlowContext) -> None:
    """Copy the last request as a curl command."""
    copy_request(flow.app, flow.services.exchange, "curl")


async def copy_as_python(flow: FlowContext) -> None:
    """Copy the last request as a Python program."""
    copy_request(flow.app, flow.services.exchange, "python")
