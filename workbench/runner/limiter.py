"""The rate limiter of an endpoint: so many requests at once, so many a minute, none while it asks to wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import chain

from workbench.domain.endpoint import Endpoint

_MINUTE = 60.0
_MANY = 1 << 30


class RequestSlot:
    """One attempt to send a request: `async with` waits until it may go out, and ends when it is over."""

    def __init__(
        self, limiter: Limiter, limits: Endpoint, batch: str, on_wait: Callable[[float], None], *, again: bool
    ) -> None:
        self._limiter = limiter
        self.limits = limits
        self.batch = batch
        self.on_wait = on_wait
        """Receives the seconds that the endpoint asks to wait, 0 where only other requests come first."""
        self.again = again
        self.admitted = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> RequestSlot:
        self._limiter.queue(self)
        try:
            await self.admitted
        except asyncio.CancelledError:
            if not self.admitted.cancelled():
                self._limiter.release(self)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limiter.release(self)

    def answered(self) -> None:
        """The endpoint accepted the request; its answer is still to come."""
        self._limiter.note_answer(self)

    def hold(self, seconds: float) -> None:
        """Hold every request to the endpoint back; those under way go on."""
        self._limiter.hold(seconds)


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

    def turn(
        self,
        limits: Endpoint,
        batch: str = "",
        *,
        on_wait: Callable[[float], None] = lambda seconds: None,
        again: bool = False,
    ) -> RequestSlot:
        """A turn for one request, within the concurrency and requests per minute of `limits`.

        `batch` names what takes turns with other batches; empty is interactive. `again` goes before all
        others of its batch.
        """
        return RequestSlot(self, limits, batch, on_wait, again=again)

    # --- for turns ---------------------------------------------------------------------------------------

    def queue(self, turn: RequestSlot) -> None:
        """Let a turn come once it may."""
        waiting = self._batches.setdefault(turn.batch, deque()) if turn.batch else self._interactive
        new = next((place for place, other in enumerate(waiting) if not other.again), len(waiting))
        waiting.insert(new if turn.again else len(waiting), turn)
        self._let_out()
        if not turn.admitted.done():
            turn.on_wait(self._held)

    def release(self, turn: RequestSlot) -> None:
        """The turn's request is over."""
        self._under_way -= 1
        self._unanswered.discard(turn)
        self._let_out()

    def note_answer(self, turn: RequestSlot) -> None:
        """The endpoint accepted the turn's request."""
        self.answers += 1
        if turn in self._unanswered:
            self._unanswered.discard(turn)
            self._answers_since_hold += 1
        self._let_out()

    def hold(self, seconds: float) -> None:
        """Let nothing out for some seconds."""
        self._held_until = max(self._held_until, asyncio.get_running_loop().time() + seconds)
        self._answers_since_hold = 0
        self._unanswered.clear()
        for turn in chain(self._interactive, *self._batches.values()):
            if not turn.admitted.done():
                turn.on_wait(self._held)

    # --- letting out -------------------------------------------------------------------------------------

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
