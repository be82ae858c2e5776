"""The one run that streams: starting it, stopping it, and knowing how long it has been going."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Run
from workbench.runner.launch import launch
from workbench.tui.run_state import RunState, state_of
from workbench.tui.services import Services


class RunController:
    """Sends one run at a time; a new one stops the one before, whose text stays."""

    def __init__(self, services: Services, on_end: Callable[[Run], None]) -> None:
        """`on_end` is told each run that has ended, however it did."""
        self._services = services
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None
        self._status = ""
        self._sent = 0.0
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
        return state_of(self.run, monotonic() - self._sent, self._status)

    def start(self, run: Run, endpoint: Endpoint) -> None:
        """Send a run."""
        self.stop()
        self.run, self.endpoint = run, endpoint
        self._status = ""
        self._sent = monotonic()
        task = asyncio.create_task(self._complete(run, endpoint))
        self._task = task

    def stop(self) -> bool:
        """Stop what streams; what came is kept. False where nothing streams."""
        return self.is_running and self._task is not None and self._task.cancel()

    async def aclose(self) -> None:
        """Stop what streams and wait until its connection is closed."""
        task = self._task
        if task is not None:
            self.stop()
            with suppress(asyncio.CancelledError):
                await task

    async def _complete(self, run: Run, endpoint: Endpoint) -> None:
        try:
            await launch(self._services.client, self._services.local, endpoint, run, self._note_status(run))
        finally:
            self._on_end(run)

    def _note_status(self, run: Run) -> Callable[[str], None]:
        def note(status: str) -> None:
            if run is self.run:
                self._status = status

        return note
