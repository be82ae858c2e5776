"""Replay: a recorded run shown again, offline, at its own pace, faster, slower or token by token."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from heapq import merge

from workbench.domain.choice import Choice
from workbench.domain.run import Run


class Replay:
    """Plays a recorded run into a fresh one, which grows just as it did when it streamed."""

    def __init__(self, recorded: Run, speed: float = 1.0) -> None:
        """`speed` 2 is twice as fast as recorded; infinity shows everything at once."""
        self.recorded = recorded
        # What is known of a run only once it is over comes at the end.
        self.run = replace(
            recorded, choices={}, notes=list(recorded.notes), outcome=None, error=None, total=None, usage=None
        )
        self.speed = speed
        self._going = asyncio.Event()
        self._going.set()
        self._script = list(
            merge(
                *(
                    [(choice.at[position], choice.index, position) for position in range(len(choice))]
                    for choice in recorded.ordered
                )
            )
        )
        self._next = 0

    @property
    def is_paused(self) -> bool:
        """Whether it waits for `resume()`."""
        return not self._going.is_set()

    @property
    def is_over(self) -> bool:
        """Whether everything recorded has been shown."""
        return self._next >= len(self._script)

    @property
    def progress(self) -> tuple[int, int]:
        """Tokens shown, and tokens recorded."""
        return self._next, len(self._script)

    def pause(self) -> None:
        """Hold the replay where it is."""
        self._going.clear()

    def resume(self) -> None:
        """Go on from where it was paused."""
        self._going.set()

    def step(self) -> bool:
        """Show one more token; False where none is left."""
        if self.is_over:
            self._end()
            return False
        when, index, position = self._script[self._next]
        recorded = self.recorded.choices[index]
        self.run.choice(index).append(recorded.received(position), when)
        self._next += 1
        if position == len(recorded) - 1:
            _finish(self.run.choice(index), recorded)
        if self.is_over:
            self._end()
        return True

    async def play(self) -> None:
        """Show everything that is left, each token when it came; changes of speed take effect at once."""
        clock = 0.0
        while not self.is_over:
            await self._going.wait()
            when = self._script[self._next][0]
            wait = max(when - clock, 0.0) / self.speed
            if wait > 0:
                # Short sleeps, so that a pause or another speed does not wait for a slow token.
                nap = min(wait, 0.05)
                await asyncio.sleep(nap)
                clock += nap * self.speed
                if nap < wait:
                    continue
            clock = max(clock, when)
            self.step()
        self._end()

    def _end(self) -> None:
        for recorded in self.recorded.ordered:
            if not len(recorded):
                _finish(self.run.choice(recorded.index), recorded)
        self.run.outcome, self.run.error = self.recorded.outcome, self.recorded.error
        self.run.total, self.run.usage = self.recorded.total, self.recorded.usage


def _finish(choice: Choice, recorded: Choice) -> None:
    choice.finish_reason = recorded.finish_reason
    choice.echoed = recorded.echoed
