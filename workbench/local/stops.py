"""Find stop sequences in streamed text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StopMatch:
    """A stop sequence that was found."""

    end: int
    """Its end in the newest token's text, in characters."""
    length: int
    """Its length in characters; it may start in earlier tokens."""


class StopMatcher:
    """Finds the first stop sequence to end, including those that span tokens."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._kept = max(map(len, stops), default=1) - 1
        """Characters kept of earlier tokens, in which a stop sequence may start."""
        self._tail = ""

    def feed(self, text: str) -> StopMatch | None:
        """Add a token's text; return the stop sequence that ends first in it, of several the longest."""
        whole = self._tail + text
        ends = [(at + len(stop), -len(stop)) for stop in self._stops if (at := whole.find(stop)) >= 0]
        if ends:
            end, length = min(ends)
            return StopMatch(end - len(self._tail), -length)
        self._tail = whole[-self._kept :] if self._kept else ""
        return None

    @property
    def partial(self) -> int:
        """The number of last characters that may be the start of a stop sequence."""
        for start in range(len(self._tail)):
            if any(stop.startswith(self._tail[start:]) for stop in self._stops):
                return len(self._tail) - start
        return 0
