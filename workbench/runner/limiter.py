"""Rate limiter of an endpoint: concurrent requests, requests per minute, and the waits it asks for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain

from workbench.domain.endpoint import Endpoint

_MINUTE = 60.0
_MANY = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class RequestSlot:
    """An attempt to send a request, waiting or admitted."""

    limits: Endpoint
    batch: str
    """Id of the batch, which takes turns with other batches; empty for an interactive request."""
    again: bool
    """Whether this is a retry, which goes before other requests of its batch."""
    on_wait: Callable[[float], None]
    """Receives the seconds that the endpoint asks to wait; 0 if only other requests are ahead."""
    admitted: asyncio.Future[None]


class Limiter:
    """Admits requests within the limits of their profiles: interactive ones first, then batches in turns.

    After the endpoint asked to wait, requests are sent one at a time until two are accepted, then as many
    at once as were accepted since, so that they do not all hit the same limit again.
    """

    def __init__(self) -> None:
        self.answers = 0
        """Number of requests that the endpoint has accepted."""
        self._under_way = 0
        self._unanswered: set[RequestSlot] = set()
        """Requests sent since the last hold that have no response yet."""
        self._answers_since_hold = _MANY
        self._held_until = 0.0
        self._sent: deque[float] = deque()
        """Times of the requests sent within the last minute."""
        self._queues: dict[str, deque[RequestSlot]] = {}
        """Waiting requests by batch id, empty for interactive ones; the first batch is next."""
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(
        self,
        limits: Endpoint,
        batch: str = "",
        *,
        on_wait: Callable[[float], None] = lambda seconds: None,
        again: bool = False,
    ) -> AsyncGenerator[RequestSlot]:
        """Wait until a request may be sent, within the concurrency and requests per minute of `limits`.

        `batch` is the id of a batch, empty for an interactive request. `again` marks a retry, which goes
        before other requests of its batch, and whose wait is not reported again.
        """
        report = (lambda seconds: None) if again else on_wait
        slot = RequestSlot(limits, batch, again, report, asyncio.get_running_loop().create_future())
        self._queue(slot)
        try:
            await slot.admitted
            yield slot
        finally:
            # A request cancelled while it waited was never admitted.
            if not slot.admitted.cancelled():
                self._release(slot)

    def _queue(self, slot: RequestSlot) -> None:
        waiting = self._queues.setdefault(slot.batch, deque())
        new = next((index for index, other in enumerate(waiting) if not other.again), len(waiting))
        waiting.insert(new if slot.again else len(waiting), slot)
        self._admit()
        if not slot.admitted.done():
            slot.on_wait(self._held)

    def _release(self, slot: RequestSlot) -> None:
        self._under_way -= 1
        self._unanswered.discard(slot)
        self._admit()

    def answered(self, slot: RequestSlot) -> None:
        """Note that the endpoint accepted a request; its answer is still to come."""
        self.answers += 1
        if slot in self._unanswered:
            self._unanswered.discard(slot)
            self._answers_since_hold += 1
        self._admit()

    def hold(self, seconds: float) -> None:
        """Admit no requests for some seconds; those already admitted continue."""
        self._held_until = max(self._held_until, asyncio.get_running_loop().time() + seconds)
        self._answers_since_hold = 0
        self._unanswered.clear()
        for turn in chain(*self._queues.values()):
            if not turn.admitted.done():
                turn.on_wait(self._held)

    @property
    def _held(self) -> float:
        return max(self._held_until - asyncio.get_running_loop().time(), 0.0)

    def _admit(self) -> None:
        while (queue := self._next_queue()) is not None:
            turn = queue[0]
            if turn.admitted.done():
                # The waiting request was cancelled.
                queue.popleft()
                continue
            if self._under_way >= max(turn.limits.concurrency, 1):
                return
            if len(self._unanswered) >= max(self._answers_since_hold, 1):
                return
            if (seconds := max(self._held, self._seconds_in_minute(turn.limits.requests_per_minute))) > 0:
                self._admit_in(seconds)
                return
            queue.popleft()
            self._queues[turn.batch] = self._queues.pop(turn.batch)
            self._under_way += 1
            self._unanswered.add(turn)
            self._sent.append(asyncio.get_running_loop().time())
            turn.admitted.set_result(None)

    def _next_queue(self) -> deque[RequestSlot] | None:
        self._queues = {batch: queue for batch, queue in self._queues.items() if queue}
        return self._queues.get("") or next(iter(self._queues.values()), None)

    def _seconds_in_minute(self, most: int | None) -> float:
        """Return the seconds until another request is within `most` requests per minute."""
        now = asyncio.get_running_loop().time()
        while self._sent and now - self._sent[0] >= _MINUTE:
            self._sent.popleft()
        return 0.0 if most is None or len(self._sent) < most else self._sent[-most] + _MINUTE - now

    def _admit_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._admit)
