"""The rate limiter of an endpoint: so many requests at once, so many a minute, none while it asks to wait."""

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
    """One attempt to send a request: it waits until it is admitted, and then it is under way."""

    limits: Endpoint
    batch: str
    """What takes turns with other batches; empty is interactive."""
    again: bool
    """Whether it goes before all others of its batch."""
    on_wait: Callable[[float], None]
    """Receives the seconds that the endpoint asks to wait, 0 where only other requests come first."""
    admitted: asyncio.Future[None]


class Limiter:
    """Lets requests out: interactive ones first, batches in turns, each within the limits of its profile.

    After the endpoint asked to wait, requests go out one at a time until it has accepted two, and then as
    many at once as it has accepted since, so that they do not all run into the same limit again.
    """

    def __init__(self) -> None:
        self.answers = 0
        """How many requests the endpoint has accepted."""
        self._under_way = 0
        self._unanswered: set[RequestSlot] = set()
        """Those that went out since the last hold and have no answer yet."""
        self._answers_since_hold = _MANY
        self._held_until = 0.0
        self._sent: deque[float] = deque()
        """When requests went out within the last minute."""
        self._interactive: deque[RequestSlot] = deque()
        self._batches: dict[str, deque[RequestSlot]] = {}
        """By batch; the first one's turn comes next."""
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
        """Wait until one request may go out, within the concurrency and requests per minute of `limits`.

        `batch` names what takes turns with other batches; empty is interactive. `again` goes before all
        others of its batch.
        """
        slot = RequestSlot(limits, batch, again, on_wait, asyncio.get_running_loop().create_future())
        self._queue(slot)
        try:
            await slot.admitted
            yield slot
        finally:
            # One that was cancelled while it waited never was under way.
            if not slot.admitted.cancelled():
                self._release(slot)

    def _queue(self, slot: RequestSlot) -> None:
        waiting = self._batches.setdefault(slot.batch, deque()) if slot.batch else self._interactive
        new = next((place for place, other in enumerate(waiting) if not other.again), len(waiting))
        waiting.insert(new if slot.again else len(waiting), slot)
        self._let_out()
        if not slot.admitted.done():
            slot.on_wait(self._held)

    def _release(self, slot: RequestSlot) -> None:
        self._under_way -= 1
        self._unanswered.discard(slot)
        self._let_out()

    def answered(self, slot: RequestSlot) -> None:
        """The endpoint accepted the slot's request; its answer is still to come."""
        self.answers += 1
        if slot in self._unanswered:
            self._unanswered.discard(slot)
            self._answers_since_hold += 1
        self._let_out()

    def hold(self, seconds: float) -> None:
        """Let nothing out for some seconds; what is under way goes on."""
        self._held_until = max(self._held_until, asyncio.get_running_loop().time() + seconds)
        self._answers_since_hold = 0
        self._unanswered.clear()
        for turn in chain(self._interactive, *self._batches.values()):
            if not turn.admitted.done():
                turn.on_wait(self._held)

    @property
    def _held(self) -> float:
        return max(self._held_until - asyncio.get_running_loop().time(), 0.0)

    def _let_out(self) -> None:
        while (queue := self._next_queue()) is not None:
            turn = queue[0]
            if turn.admitted.done():
                # Whoever waited was cancelled.
                queue.popleft()
                continue
            if self._under_way >= max(turn.limits.concurrency, 1):
                return
            if len(self._unanswered) >= max(self._answers_since_hold, 1):
                return
            if (seconds := max(self._held, self._seconds_in_minute(turn.limits.requests_per_minute))) > 0:
                self._look_again_in(seconds)
                return
            queue.popleft()
            if turn.batch:
                self._batches[turn.batch] = self._batches.pop(turn.batch)
            self._under_way += 1
            self._unanswered.add(turn)
            self._sent.append(asyncio.get_running_loop().time())
            turn.admitted.set_result(None)

    def _next_queue(self) -> deque[RequestSlot] | None:
        if self._interactive:
            return self._interactive
        for batch in list(self._batches):
            if self._batches[batch]:
                return self._batches[batch]
            del self._batches[batch]
        return None

    def _seconds_in_minute(self, most: int | None) -> float:
        """Seconds until one more request is within so many a minute."""
        now = asyncio.get_running_loop().time()
        while self._sent and now - self._sent[0] >= _MINUTE:
            self._sent.popleft()
        return 0.0 if most is None or len(self._sent) < most else self._sent[-most] + _MINUTE - now

    def _look_again_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._let_out)
