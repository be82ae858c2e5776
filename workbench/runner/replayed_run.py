"""Replay a recorded run offline, at the recorded speed, faster, slower, or token by token."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from heapq import merge

from workbench.domain.choice import Choice
from workbench.domain.run import Run


class Replay:
    """Plays a recorded run into a new run, which grows as the recorded run did while it streamed."""

    def __init__(self, recorded: Run, speed: float = 1.0) -> None:
        """`speed` is relative to the recording; infinity shows everything at once."""
        self.recorded = recorded
        # Fields that are known only when a run ends are set at the end.
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
        """Whether the replay waits for `resume()`."""
        return not self._going.is_set()

    @property
    def is_over(self) -> bool:
        """Whether all recorded tokens have been shown."""
        return self._next >= len(self._script)

    @property
    def progress(self) -> tuple[int, int]:
        """Number of tokens shown, and of tokens recorded."""
        return self._next, len(self._script)

    def pause(self) -> None:
        """Pause the replay."""
        self._going.clear()

    def resume(self) -> None:
        """Continue a paused replay."""
        self._going.set()

    def step(self) -> bool:
        """Show the next token; return False if none is left."""
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
        """Show the remaining tokens at their recorded times; changes of speed take effect at once."""
        clock = 0.0
        while not self.is_over:
            await self._going.wait()
            when = self._script[self._next][0]
            wait = max(when - clock, 0.0) / self.speed
            if wait > 0:
                # Sleep briefly, so that a pause or change of speed takes effect before a slow token.
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
