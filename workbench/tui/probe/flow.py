"""Finding out what an endpoint supports."""

from __future__ import annotations

from workbench.tui.flows import FlowContext
from workbench.tui.probe.screen import ProbeScreen


async def probe(flow: FlowContext) -> None:
    """Find out which parameters the endpoint supports; lists its requests before sending them."""
    await flow.ask(
        ProbeScreen(flow.services, flow.workspace.drafting.endpoint, flow.workspace.drafting.requested_model)
    )
    flow.workspace.drafting.note_probe()
