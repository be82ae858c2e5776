"""Probe which parameters an endpoint supports."""

from __future__ import annotations

from workbench.tui.flows import FlowContext
from workbench.tui.probe.screen import ProbeScreen


async def probe(flow: FlowContext) -> None:
    """Probe the endpoint in use; nothing is sent before the person confirms."""
    drafting = flow.workspace.drafting
    await flow.ask(ProbeScreen(flow.services, drafting.endpoint, drafting.requested_model))
    drafting.note_probe()
