"""A record of one exchange as it went over the wire, for a person to look at."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from workbench.client.keys import Secret

MOST_KEPT = 32 * 1024 * 1024
"""Bytes of an answer that are kept at most, with what it takes to know when each piece came."""
_PER_PIECE = 16


@dataclass(slots=True)
class WireLog:
    """The last request of an exchange, its key masked, and the bytes of the answer as they came."""

    method: str = ""
    url: str = ""
    """Without user name, password and query."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """As sent, with the key masked."""
    body: bytes = b""
    status: int | None = None
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    """With lower-case names; an endpoint may echo the key in them as in the answer."""
    key: Secret = field(default_factory=Secret)
    """What is masked wherever the exchange is shown."""
    answer: bytearray = field(default_factory=bytearray, repr=False)
    """The answer's body as it came, up to `MOST_KEPT`."""
    size: int = 0
    """Bytes of the answer, also those that are not kept."""
    is_over: bool = False
    """Whether nothing more comes."""
    attempts: int = 0
    """How often the request was sent; the record is of the last time."""
    _ends: array[int] = field(default_factory=lambda: array("Q"), repr=False)
    _times: array[float] = field(default_factory=lambda: array("d"), repr=False)

    def sending(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, key: Secret | None = None
    ) -> None:
        """Start over with a request."""
        self.method, self.url, self.headers, self.body = method, url, dict(headers), body
        self.status, self.answer_headers, self.size, self.is_over = None, {}, 0, False
        self.key = key or Secret()
        self.attempts += 1
        self.answer, self._ends, self._times = bytearray(), array("Q"), array("d")

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Keep the head of the answer."""
        self.status, self.answer_headers = status, dict(headers)

    def received(self, at: float, piece: bytes) -> None:
        """Keep a piece of the answer's body that came `at` seconds after the request."""
        self.size += len(piece)
        kept = len(self.answer)
        # All that comes after a piece too many is left out, so that what is kept is one whole beginning.
        if kept == self.size - len(piece) and self.size + (len(self._ends) + 1) * _PER_PIECE <= MOST_KEPT:
            self.answer += piece
            self._ends.append(self.size)
            self._times.append(at)

    def over(self) -> None:
        """Nothing more comes."""
        self.is_over = True

    @property
    def is_whole(self) -> bool:
        """Whether all that came is kept."""
        return len(self.answer) == self.size

    @property
    def pieces(self) -> Iterator[tuple[float, bytes]]:
        """Seconds since the request, and what came then."""
        start = 0
        for end, at in zip(self._ends, self._times, strict=True):
            yield at, bytes(self.answer[start:end])
            start = end

    @property
    def count(self) -> int:
        """How many pieces are kept."""
        return len(self._ends)

    def time_of(self, offset: int) -> float:
        """Seconds from the request to the piece that holds a byte of the answer."""
        place = min(bisect_right(self._ends, offset), len(self._times) - 1)
        return self._times[place] if self._times else 0.0
