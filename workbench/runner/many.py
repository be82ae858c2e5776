"""Many runs at once: within each endpoint's limits, stoppable one by one or all together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Outcome, Run
from workbench.runner.status import Phase, Status

if TYPE_CHECKING:
    from workbench.runner.connections import Connections

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Job:
    """A run and where to send it."""

    endpoint: Endpoint
    run: Run


class Gate:
    """Lets requests to one endpoint through: so many at once, and so many a minute."""

    def __init__(self, concurrency: int, per_minute: int | None) -> None:
        self._slots = asyncio.Semaphore(max(concurrency, 1))
        self._per_minute = per_minute
        self._sent: deque[float] = deque()

    async def __aenter__(self) -> None:
        await self._slots.acquire()
        try:
            await self._wait_for_minute()
        except BaseException:
            self._slots.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._slots.release()

    async def _wait_for_minute(self) -> None:
        if self._per_minute is None:
            return
        clock = asyncio.get_running_loop().time
        while True:
            while self._sent and clock() - self._sent[0] >= _MINUTE:
                self._sent.popleft()
            if len(self._sent) < self._per_minute:
                self._sent.append(clock())
                return
            await asyncio.sleep(self._sent[0] + _MINUTE - clock())


class ManyRuns:
    """Executes jobs concurrently; each run fills as its answer comes."""

    def __init__(
        self,
        connections: Connections,
        jobs: Iterable[Job],
        *,
        concurrency: int | None = None,
        on_begin: Callable[[Run], None] | None = None,
        on_end: Callable[[Run], None] | None = None,
    ) -> None:
        """`concurrency` replaces the endpoints' own.

        `on_begin` is told each run when its turn to be sent has come, `on_end` when it has ended.
        """
        self._connections = connections
        self.jobs = tuple(jobs)
        self._concurrency = concurrency
        self._on_begin = on_begin
        self._on_end = on_end
        self._gates: dict[str, Gate] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._phases = {job.run.id: Phase.QUEUED for job in self.jobs}

    def phase(self, run: Run) -> Phase:
        """Where a run stands."""
        return self._phases[run.id]

    async def execute(self) -> None:
        """Send everything and wait for the end; on cancellation all runs stop and keep what came."""
        for job in self.jobs:
            self._tasks[job.run.id] = asyncio.create_task(self._one(job))
        try:
            await asyncio.gather(*self._tasks.values())
        finally:
            await self._settle()

    def stop(self, run: Run) -> None:
        """Stop one run; the others go on."""
        if (task := self._tasks.get(run.id)) is not None:
            task.cancel()

    async def _settle(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _gate(self, endpoint: Endpoint) -> Gate:
        if endpoint.name not in self._gates:
            limit = self._concurrency or endpoint.concurrency
            self._gates[endpoint.name] = Gate(limit, endpoint.requests_per_minute)
        return self._gates[endpoint.name]

    async def _one(self, job: Job) -> None:
        def note(status: Status) -> None:
            self._phases[job.run.id] = status.phase

        # A run that is stopped alone ends its own task quietly; the others' gather must not see it.
        with suppress(asyncio.CancelledError):
            async with self._gate(job.endpoint):
                if self._on_begin is not None:
                    self._on_begin(job.run)
                await self._connections.send(job.endpoint, job.run, on_status=note)
        self._phases[job.run.id] = Phase.ENDED
        job.run.outcome = job.run.outcome or Outcome.STOPPED
        if self._on_end is not None:
            self._on_end(job.run)
