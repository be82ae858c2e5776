"""Finding stop texts in an answer as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StopMatch:
    """Where a stop text ended."""

    end: int
    """Characters of the newest token up to the end of the stop text."""
    length: int
    """Characters of the stop text, which may have started in earlier tokens."""


class StopMatcher:
    """Looks for the first place where any stop text ends, also across tokens."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._kept = max(map(len, stops), default=1) - 1
        """A stop text that ends in the next token begins at most this many characters before it."""
        self._tail = ""

    def feed(self, text: str) -> StopMatch | None:
        """Take the next token's text; returns the stop text that ends in it first, of several the longest."""
        whole = self._tail + text
        ends = [(at + len(stop), -len(stop)) for stop in self._stops if (at := whole.find(stop)) >= 0]
        if ends:
            end, length = min(ends)
            return StopMatch(end - len(self._tail), -length)
        self._tail = whole[-self._kept :] if self._kept else ""
        return None

    @property
    def begun(self) -> int:
        """How many of the last characters may turn out to be the beginning of a stop text."""
        for start in range(len(self._tail)):
            if any(stop.startswith(self._tail[start:]) for stop in self._stops):
                return len(self._tail) - start
        return 0
