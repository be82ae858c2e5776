"""Run many jobs concurrently, within each endpoint's limits."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Outcome, Run
from workbench.runner.connections import Connections
from workbench.runner.run_status import Phase, Status


@dataclass(frozen=True, slots=True)
class Job:
    """A run and its endpoint."""

    endpoint: Endpoint
    run: Run


@dataclass(eq=False, slots=True)
class ManyRuns:
    """Executes jobs concurrently; they can be stopped one by one or all together.

    The number of tasks per endpoint is its concurrency limit, however many jobs there are; the endpoint's
    rate limiter decides when each request is sent.
    """

    connections: Connections
    jobs: Sequence[Job]
    on_begin: Callable[[Run], None] = lambda run: None
    """Receives each run when its request is first sent."""
    on_status: Callable[[Run, Status], None] = lambda run, status: None
    """Receives the status of each run until its first token."""
    on_end: Callable[[Run], None] = lambda run: None
    """Receives each run when it has ended."""
    _batch: str = field(default_factory=lambda: uuid.uuid4().hex)
    _sending: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _phases: dict[str, Phase] = field(default_factory=dict)

    def phase(self, run: Run) -> Phase:
        """Return the phase of a run."""
        return self._phases.get(run.id, Phase.QUEUED if run.is_running else Phase.ENDED)

    async def execute(self) -> None:
        """Send all jobs and wait until they end; on cancellation all runs stop and keep their text."""
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
        """Stop one run; the others continue."""
        if (sending := self._sending.get(run.id)) is not None:
            sending.cancel()
        elif run.is_running:
            self._end(run)

    async def _work(self, queue: deque[Job]) -> None:
        """Send the jobs of a queue one after another."""
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
                    # The task was cancelled before its first step.
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
                self.on_begin(job.run)
            self.on_status(job.run, status)

        # `stop` cancels only this task; the worker continues with the next job.
        with suppress(asyncio.CancelledError):
            await self.connections.send(job.endpoint, job.run, batch=self._batch, on_status=note)
        self._end(job.run)

    def _end(self, run: Run) -> None:
        self._phases.pop(run.id, None)
        run.outcome = run.outcome or Outcome.STOPPED
        self.on_end(run)
