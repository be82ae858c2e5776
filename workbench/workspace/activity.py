"""The one run that streams: starting it, stopping it, and knowing how long it has been going."""

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
from workbench.runner.status import Phase, Status
from workbench.workspace.services import Services

if TYPE_CHECKING:
    from workbench.client.wire_log import WireLog
    from workbench.runner.branching import Origin

_SENDING = Status(Phase.SENDING)


class Exchange(Struct, frozen=True):
    """A run, where it was sent, and the record of its bytes: the first request's where there were several."""

    run: Run
    endpoint: Endpoint
    wire: WireLog


class Activity:
    """Sends one run at a time; a new one stops the one before, whose text stays."""

    def __init__(
        self,
        services: Services,
        on_end: Callable[[Run], None],
        on_status: Callable[[Run, Status], None] = lambda run, status: None,
    ) -> None:
        """`on_end` receives each run that has ended, however it did; `on_status` its status until then."""
        self._services = services
        self._on_end = on_end
        self._on_status = on_status
        self._task: asyncio.Task[None] | None = None
        self._told = self._sent = 0.0
        self.status = _SENDING
        """Where the newest run stands before its first token."""
        self.run: Run | None = None
        """The newest run; None before the first."""
        self.endpoint: Endpoint | None = None
        """Where it was sent."""

    @property
    def is_running(self) -> bool:
        """Whether something streams or is about to."""
        return self._task is not None and not self._task.done()

    @property
    def is_queued(self) -> bool:
        """Whether the newest run waits for its endpoint's limit."""
        return self.status.phase is Phase.QUEUED and self.is_running

    @property
    def is_retrying(self) -> bool:
        """Whether the newest run waits to be sent again."""
        return self.status.phase is Phase.RETRYING and self.is_running

    @property
    def seconds(self) -> float:
        """Seconds since the newest run was sent first."""
        return monotonic() - self._sent

    @property
    def seconds_left(self) -> float:
        """Seconds until it is sent again."""
        return self.status.seconds - (monotonic() - self._told)

    def start(self, run: Run, endpoint: Endpoint, origin: Origin | None = None) -> None:
        """Send a run; note whether it is retokenised where it continues `origin`."""
        self.stop()
        self.run, self.endpoint = run, endpoint
        self.status = _SENDING
        self._told = self._sent = monotonic()
        # The client's imports are paid for when something is sent, not when the screen opens.
        from workbench.client.wire_log import WireLog

        connections = self._services.connections
        # One record at a time: it may be as large as the answer.
        self._services.exchange = exchange = Exchange(run, endpoint, WireLog())
        launching = connections.send(
            endpoint, run, on_status=partial(self._note_status, run), wire=exchange.wire
        )
        if origin is not None and endpoint.tokenizer:
            from workbench.runner.branching import beside, note_retokenisation, tokenizer_of

            launching = beside(
                launching, note_retokenisation(run, origin, tokenizer_of(connections, endpoint))
            )
        self._task = asyncio.create_task(launching)
        self._task.add_done_callback(lambda task: self._ended(run, task))

    def stop(self) -> bool:
        """Stop what streams; what came is kept. False where nothing streams."""
        return self.is_running and self._task is not None and self._task.cancel()

    async def wait(self, seconds: float) -> None:
        """Wait until what streams has ended, for so many seconds at most."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    async def aclose(self) -> None:
        """Stop what streams and wait until its connection is closed."""
        task = self._task
        if task is not None:
            self.stop()
            await asyncio.wait({task})

    def _ended(self, run: Run, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # A defect of the workbench itself must not take the text down with it.
            words = one_line(f"{type(error).__name__}: {error}")
            run.error = Failure("The workbench failed", words, "The text received so far is kept. Run again.")
            run.outcome = Outcome.ERROR
        # What is cancelled before it began to be sent names no outcome itself.
        run.outcome = run.outcome or Outcome.STOPPED
        self._on_end(run)

    def _note_status(self, run: Run, status: Status) -> None:
        if run is self.run:
            self.status, self._told = status, monotonic()
            if status.phase is Phase.SENDING:
                # What is counted from here is the endpoint's time, not the engine's start or a queue.
                self._sent = self._told
        self._on_status(run, status)
