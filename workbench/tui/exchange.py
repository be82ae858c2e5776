"""The last request, as it went over the wire."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.client.wire import WireLog
from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Run


@dataclass(frozen=True, slots=True)
class Exchange:
    """A run, where it was sent, and the record of its bytes: the first request's where there were several."""

    run: Run
    endpoint: Endpoint
    wire: WireLog
