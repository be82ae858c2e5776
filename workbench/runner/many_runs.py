"""Many runs at once: within each endpoint's limits, stoppable one by one or all together."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Outcome, Run
from workbench.runner.connections import Connections
from workbench.runner.status import Phase, Status


@dataclass(frozen=True, slots=True)
class Job:
    """A run and where to send it."""

    endpoint: Endpoint
    run: Run


class ManyRuns:
    """Executes jobs concurrently; each run fills as its answer comes.

    Only as many jobs as an endpoint's profile allows at once are taken up, so that ten thousand cost no more
    than those; the endpoint's limiter decides when each one goes out.
    """

    def __init__(
        self,
        connections: Connections,
        jobs: Iterable[Job],
        *,
        on_begin: Callable[[Run], None] = lambda run: None,
        on_status: Callable[[Run, Status], None] = lambda run, status: None,
        on_end: Callable[[Run], None] = lambda run: None,
    ) -> None:
        """`on_begin` receives each run when its request first goes out, `on_end` when it has ended.

        `on_status` receives what happens to each run before its first token.
        """
        self._connections = connections
        self.jobs = tuple(jobs)
        self._on_begin = on_begin
        self._on_status = on_status
        self._on_end = on_end
        self._batch = uuid.uuid4().hex
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._phases: dict[str, Phase] = {}

    def phase(self, run: Run) -> Phase:
        """Where a run of the batch stands."""
        return self._phases.get(run.id, Phase.QUEUED if run.is_running else Phase.ENDED)

    async def execute(self) -> None:
        """Send everything and wait for the end; on cancellation all runs stop and keep what came."""
        queues: dict[str, deque[Job]] = {}
        for job in self.jobs:
            queues.setdefault(job.endpoint.name, deque()).append(job)
        workers = [
            asyncio.create_task(self._work(queue))
            for queue in queues.values()
            for _ in range(min(len(queue), max(job.endpoint.concurrency for job in queue)))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            ends = await asyncio.gather(*workers, return_exceptions=True)
            if all(end is None or isinstance(end, asyncio.CancelledError) for end in ends):
                for job in self.jobs:
                    self.stop(job.run)

    def stop(self, run: Run) -> None:
        """Stop one run; the others go on."""
        if (sending := self._sending.get(run.id)) is not None:
            sending.cancel()
        elif run.is_running:
            self._end(run)

    async def _work(self, queue: deque[Job]) -> None:
        """Send one job after the other."""
        while queue:
            job = queue.popleft()
            if not job.run.is_running:
                continue
            sending = self._sending[job.run.id] = asyncio.create_task(self._send(job))
            try:
                await asyncio.wait({sending})
            finally:
                sending.cancel()
                await asyncio.wait({sending})
                del self._sending[job.run.id]
                if sending.cancelled():
                    # It was stopped before it did anything.
                    self._end(job.run)
            if not sending.cancelled():
                sending.result()

    async def _send(self, job: Job) -> None:
        has_begun = False

        def note(status: Status) -> None:
            nonlocal has_begun
            self._phases[job.run.id] = status.phase
            if status.phase is Phase.SENDING and not has_begun:
                has_begun = True
                self._on_begin(job.run)
            self._on_status(job.run, status)

        # A run that is stopped alone ends its own task quietly; the others go on.
        with suppress(asyncio.CancelledError):
            await self._connections.send(job.endpoint, job.run, batch=self._batch, on_status=note)
        self._end(job.run)

    def _end(self, run: Run) -> None:
        self._phases.pop(run.id, None)
        run.outcome = run.outcome or Outcome.STOPPED
        self._on_end(run)
