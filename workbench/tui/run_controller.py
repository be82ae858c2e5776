"""The one run that streams: starting it, stopping it, and knowing how long it has been going."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil
from time import monotonic

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Failure, Outcome, Run
from workbench.runner.branching import Origin
from workbench.runner.status import Phase, Status
from workbench.tui.run_state import RunState, state_of
from workbench.tui.services import Services

_SENDING = Status(Phase.SENDING)


class RunController:
    """Sends one run at a time; a new one stops the one before, whose text stays."""

    def __init__(self, services: Services, on_end: Callable[[Run], None]) -> None:
        """`on_end` is told each run that has ended, however it did."""
        self._services = services
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None
        self._status = _SENDING
        self._told = self._sent = 0.0
        self.run: Run | None = None
        """The newest run; None before the first."""
        self.endpoint: Endpoint | None = None
        """Where it was sent."""

    @property
    def is_running(self) -> bool:
        """Whether something streams or is about to."""
        return self._task is not None and not self._task.done()

    @property
    def state(self) -> RunState:
        """What the newest run is doing."""
        if self._status.phase is Phase.QUEUED and self.is_running:
            return state_of(self.run, 0.0, self._status.detail)
        if self._status.phase is Phase.RETRYING and self.is_running:
            # A countdown beside the seconds since the first attempt would be two clocks in one place.
            return state_of(self.run, 0.0, self._countdown)
        return state_of(self.run, monotonic() - self._sent, self._status.detail)

    @property
    def waiting(self) -> str:
        """Why the newest run waits to be sent again, how long still, and the way out; else empty."""
        status = self._status
        if status.phase is not Phase.RETRYING or not self.is_running:
            return ""
        attempt, most = status.attempt + 1, 0 if self.endpoint is None else self.endpoint.retries + 1
        # Refusals while the endpoint accepts other requests do not count.
        when = f"{self._countdown} (attempt {attempt}{f' of {most}' if attempt <= most else ''})"
        return f"◌ {status.detail}\n{when} · Esc cancels"

    @property
    def _countdown(self) -> str:
        left = ceil(self._status.seconds - (monotonic() - self._told))
        return f"again in {left} s" if left > 0 else "sending again"

    def start(self, run: Run, endpoint: Endpoint, origin: Origin | None = None) -> None:
        """Send a run; a changed joint of one that goes on from `origin` is noted, where that can be told."""
        self.stop()
        self.run, self.endpoint = run, endpoint
        self._status = _SENDING
        self._told = self._sent = monotonic()
        # The client's imports are paid for when something is sent, not when the screen opens.
        from workbench.client.wire import WireLog
        from workbench.tui.exchange import Exchange

        connections = self._services.connections
        # One record at a time: it may be as large as the answer.
        self._services.exchange = exchange = Exchange(run, endpoint, WireLog())
        launching = connections.send(endpoint, run, on_status=self._note_status(run), wire=exchange.wire)
        if origin is not None and endpoint.tokenizer:
            from workbench.runner.joints import beside, note_joint, tokenizer_of

            launching = beside(launching, note_joint(run, origin, tokenizer_of(connections, endpoint)))
        self._task = asyncio.create_task(launching)
        self._task.add_done_callback(lambda task: self._ended(run, task))

    def stop(self) -> bool:
        """Stop what streams; what came is kept. False where nothing streams."""
        return self.is_running and self._task is not None and self._task.cancel()

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
            run.error = Failure("The workbench failed", words, "The text that came is kept. Run again.")
            run.outcome = Outcome.ERROR
        self._on_end(run)

    def _note_status(self, run: Run) -> Callable[[Status], None]:
        def note(status: Status) -> None:
            if run is self.run:
                self._status, self._told = status, monotonic()
                if status.phase is Phase.SENDING:
                    # What is counted from here is the endpoint's time, not the engine's start or a queue.
                    self._sent = self._told

        return note
