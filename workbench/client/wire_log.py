"""Log of the raw traffic of an exchange, and its events with the tokens of each."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

from workbench.client.events import Delta, Event
from workbench.client.keys import Secret
from workbench.client.response_body import ResponseBody, begins_stream

MOST_KEPT = 32 * 1024 * 1024
"""Maximum bytes kept of an answer, including those for the time of each chunk."""
_PER_CHUNK = 16


@dataclass(slots=True)
class WireLog:
    """The last request of an exchange, with its key masked, and the raw bytes of the answer."""

    method: str = ""
    url: str = ""
    """Without user name, password and query."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """As sent, with the key masked."""
    body: bytes = b""
    status: int | None = None
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    """With lower-case names; an endpoint may echo the key in them, as in the answer."""
    key: Secret = field(default_factory=Secret)
    """To be masked wherever the exchange is shown."""
    answer: bytearray = field(default_factory=bytearray, repr=False)
    """The body of the answer, up to `MOST_KEPT`."""
    size: int = 0
    """Bytes of the answer, including those not kept."""
    is_over: bool = False
    """Whether the exchange has ended."""
    attempts: int = 0
    """Number of times the request was sent; the log has the last attempt."""
    _ends: array[int] = field(default_factory=lambda: array("Q"), repr=False)
    _times: array[float] = field(default_factory=lambda: array("d"), repr=False)

    def sending(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, key: Secret | None = None
    ) -> None:
        """Start the log of an attempt, discarding the previous one."""
        self.method, self.url, self.headers, self.body = method, url, dict(headers), body
        self.status, self.answer_headers, self.size, self.is_over = None, {}, 0, False
        self.key = key or Secret()
        self.attempts += 1
        self.answer, self._ends, self._times = bytearray(), array("Q"), array("d")

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Store the head of the answer."""
        self.status, self.answer_headers = status, dict(headers)

    def received(self, at: float, chunk: bytes) -> None:
        """Store a chunk of the answer's body, received `at` seconds after the request was sent."""
        self.size += len(chunk)
        kept = len(self.answer)
        # Once a chunk was dropped, drop all later ones, so that a contiguous beginning is kept.
        if kept == self.size - len(chunk) and self.size + (len(self._ends) + 1) * _PER_CHUNK <= MOST_KEPT:
            self.answer += chunk
            self._ends.append(self.size)
            self._times.append(at)

    @property
    def is_whole(self) -> bool:
        """Whether the whole answer is kept."""
        return len(self.answer) == self.size

    @property
    def count(self) -> int:
        """Number of chunks kept."""
        return len(self._ends)

    def time_of(self, offset: int) -> float:
        """Return the time of the chunk with a byte of the answer, in seconds since the request."""
        index = min(bisect_right(self._ends, offset), len(self._times) - 1)
        return self._times[index] if self._times else 0.0


_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


@dataclass(frozen=True, slots=True)
class Gave:
    """The tokens of one choice in an event: index of the first, and their number."""

    choice: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class WireEvent:
    """An event of an answer; an answer that is not streamed is one event."""

    at: float
    """Seconds since the request."""
    raw: bytes
    """As received."""
    gave: tuple[Gave, ...]


class WireEvents:
    """The events of a log that may still grow.

    Offsets and counts are stored in columns, about 40 bytes per event.
    """

    def __init__(self, log: WireLog) -> None:
        self.log = log
        self._body = ResponseBody()
        self._is_stream: bool | None = None
        self._ends = array("Q")
        self._searched = 0
        """Offset up to which the log was searched for the start of an event's end."""
        self._gave: dict[int, tuple[Gave, ...]] = {}
        """Tokens by event, except for events with a single token, which use the columns below."""
        self._choice = array("q")
        self._first = array("q")
        self._counts: dict[int, int] = {}
        """Number of tokens so far, by choice."""
        self._firsts: dict[int, tuple[array[int], array[int]]] = {}
        """By choice: the first token of each event with tokens, and the index of the event."""
        self.is_over = False
        """Whether all events have been found."""

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> WireEvent:
        start, end = self._ends[index - 1] if index else 0, self._ends[index]
        raw = bytes(self.log.answer[start:end])
        gave = self._gave.get(index, ())
        if self._choice[index] >= 0:
            gave = (Gave(self._choice[index], self._first[index], 1),)
        return WireEvent(self.log.time_of(max(end - 1, 0)), raw, gave)

    def event_of(self, choice: int, token: int) -> int | None:
        """Return the index of the event with a token of a choice; None if there is none."""
        if (known := self._firsts.get(choice)) is None or token >= self._counts[choice]:
            return None
        firsts, events = known
        index = bisect_right(firsts, token) - 1
        return events[index] if index >= 0 else None

    def read(self, seconds: float) -> bool:
        """Find more events for about so many seconds; return whether any were found."""
        before, until = len(self), perf_counter() + seconds
        if self._is_stream is None and (is_stream := begins_stream(self.log.answer)) is not None:
            self._is_stream = is_stream and self._has_succeeded
        while self._is_stream and not self.is_over and self._next():
            if len(self) % 16 == 0 and perf_counter() > until:
                return True
        if self.log.is_over and not self.is_over:
            self._finish()
        return len(self) > before

    @property
    def _has_succeeded(self) -> bool:
        return self.log.status is not None and 200 <= self.log.status < 300

    def _next(self) -> bool:
        start = self._ends[-1] if self._ends else 0
        found = _EVENT_END.search(self.log.answer, max(start, self._searched))
        if found is None:
            self._searched = max(len(self.log.answer) - 3, 0)
            return False
        # Delete the match: while it exists, the bytearray cannot be resized.
        end = found.end()
        del found
        self._add(end, list(self._body.feed(bytes(self.log.answer[start:end]))))
        return True

    def _finish(self) -> None:
        start, end = self._ends[-1] if self._ends else 0, len(self.log.answer)
        events: list[Event] = []
        if self._has_succeeded:
            events = [*self._body.feed(bytes(self.log.answer[start:end])), *self._body.finish()]
        if end > start:
            self._add(end, events)
        self.is_over = True

    def _add(self, end: int, events: list[Event]) -> None:
        number, gave = len(self._ends), []
        for event in events:
            if isinstance(event, Delta) and event.tokens:
                index = event.choice
                if event.replaces or index not in self._firsts:
                    self._firsts[index], self._counts[index] = (array("q"), array("q")), 0
                first = self._counts[index]
                self._counts[index] = first + len(event.tokens)
                firsts, numbers = self._firsts[index]
                firsts.append(first)
                numbers.append(number)
                gave.append(Gave(index, first, len(event.tokens)))
        self._ends.append(end)
        is_single = len(gave) == 1 and gave[0].count == 1
        self._choice.append(gave[0].choice if is_single else -1)
        self._first.append(gave[0].first if is_single else 0)
        if gave and not is_single:
            self._gave[number] = tuple(gave)
