"""Start and stop the main screen's run, and track its status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Failure, Outcome, Run
from workbench.runner.run_status import Phase, Status
from workbench.workspace.services import Services

if TYPE_CHECKING:
    from workbench.client.wire_log import WireLog
    from workbench.runner.branching import Origin

_SENDING = Status(Phase.SENDING)


class Exchange(Struct, frozen=True):
    """A run, its endpoint, and the log of its raw traffic: of its first request if it was split."""

    run: Run
    endpoint: Endpoint
    wire: WireLog


class Activity:
    """Sends one run at a time; starting another stops it, keeping its text."""

    def __init__(
        self,
        services: Services,
        on_end: Callable[[Run], None],
        on_status: Callable[[Run, Status], None] = lambda run, status: None,
    ) -> None:
        """`on_end` receives each run that ends, whatever its outcome; `on_status` each new status."""
        self._services = services
        self._on_end = on_end
        self._on_status = on_status
        self._task: asyncio.Task[None] | None = None
        self._status_at = self._sent = 0.0
        self.status = _SENDING
        """Status of the newest run before its first token."""
        self.run: Run | None = None
        """The newest run; None before the first."""
        self.endpoint: Endpoint | None = None
        """Endpoint of the newest run."""

    @property
    def is_running(self) -> bool:
        """Whether the newest run has not ended."""
        return self._task is not None and not self._task.done()

    @property
    def is_queued(self) -> bool:
        """Whether the newest run waits for its endpoint's rate limiter."""
        return self.status.phase is Phase.QUEUED and self.is_running

    @property
    def is_retrying(self) -> bool:
        """Whether the newest run waits for a retry."""
        return self.status.phase is Phase.RETRYING and self.is_running

    @property
    def seconds(self) -> float:
        """Seconds since the newest run was first sent."""
        return monotonic() - self._sent

    @property
    def seconds_left(self) -> float:
        """Seconds until the newest run is retried."""
        return self.status.seconds - (monotonic() - self._status_at)

    def start(self, run: Run, endpoint: Endpoint, origin: Origin | None = None) -> None:
        """Send a run; note on it a retokenisation at the point where it branches from `origin`."""
        self.stop()
        self.run, self.endpoint = run, endpoint
        self.status = _SENDING
        self._status_at = self._sent = monotonic()
        # Deferred, so that the screen opens without importing the client.
        from workbench.client.wire_log import WireLog

        connections = self._services.connections
        # Only the newest log is kept, as it may be as large as the answer.
        self._services.exchange = exchange = Exchange(run, endpoint, WireLog())
        launching = connections.send(
            endpoint, run, on_status=partial(self._note_status, run), wire=exchange.wire
        )
        if origin is not None and endpoint.tokenizer:
            from workbench.runner.branching import beside, note_retokenisation

            tokenize = partial(connections.tokenize, endpoint)
            launching = beside(launching, note_retokenisation(run, origin, tokenize))
        self._task = asyncio.create_task(launching)
        self._task.add_done_callback(lambda task: self._ended(run, task))

    def stop(self) -> bool:
        """Stop the run, keeping the text received; return False if none is running."""
        return self.is_running and self._task is not None and self._task.cancel()

    async def wait(self, seconds: float) -> None:
        """Wait at most so many seconds for the run to end."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    async def aclose(self) -> None:
        """Stop the run and wait until its connection is closed."""
        task = self._task
        if task is not None:
            self.stop()
            await asyncio.wait({task})

    def _ended(self, run: Run, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # A defect of the workbench must not lose the text received.
            cause = one_line(f"{type(error).__name__}: {error}")
            run.error = Failure("The workbench failed", cause, "The text received so far is kept. Run again.")
            run.outcome = Outcome.ERROR
        # A task cancelled before its first step sets no outcome.
        run.outcome = run.outcome or Outcome.STOPPED
        self._on_end(run)

    def _note_status(self, run: Run, status: Status) -> None:
        if run is self.run:
            self.status, self._status_at = status, monotonic()
            if status.phase is Phase.SENDING:
                # Count the endpoint's time only, without the start of the engine or the queue.
                self._sent = self._status_at
        self._on_status(run, status)
