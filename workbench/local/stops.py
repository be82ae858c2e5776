"""Finding stop texts in an answer as it grows."""

from __future__ import annotations

from collections.abc import Sequence


class StopMatcher:
    """Looks for the first place where any stop text ends, also across pieces.

    The answer includes its stop text, so nothing ever needs to be held back.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._kept = max(map(len, stops), default=1) - 1
        """A stop text that ends in the next piece begins at most this many characters before it."""
        self._tail = ""

    def feed(self, piece: str) -> int | None:
        """How many characters of the piece belong to the answer, where a stop text ends in it."""
        text = self._tail + piece
        ends = [at + len(stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if ends:
            return min(ends) - len(self._tail)
        self._tail = text[-self._kept :] if self._kept else ""
        return None
