"""Incremental parser of server-sent events, lenient towards the deviations of real servers.

Only CRLF, LF and CR end a line: JSON texts may contain U+2028, U+0085 and the like.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")
_EVENTS = re.compile(rb"(?:data: .*+\n\n)++")
"""Consecutive events of one `data:` line each, the common case, without CR."""
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b"error:")
_IGNORED = frozenset((b"id", b"retry"))
_UNKNOWN_FIELD = re.compile(rb"[A-Za-z][\w-]*")


class ErrorField(bytes):
    """The data of an event named `error`, or of an `error:` field, which old llama.cpp servers send."""

    __slots__ = ()


class Stray(bytes):
    """Lines that are not a field of an event, written by a proxy or a failing server."""

    __slots__ = ()


class Comment(bytes):
    """A comment line, sent as a keep-alive."""

    __slots__ = ()


class SseParser:
    """Parses a stream, chunk by chunk, into the payloads of its events.

    A payload is the contents of an event's `data:` lines, joined by LF. Other lines are returned as
    `ErrorField`, `Comment` or `Stray`.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        """The unfinished line."""
        self._data: list[bytes] = []
        self._stray: list[bytes] = []
        self._is_error = False
        """Whether the unfinished event is named `error`."""
        self._held = 0
        """Bytes in the complete lines of the unfinished event."""
        self._after_cr = False

    @property
    def pending(self) -> int:
        """Bytes of the unfinished event."""
        return len(self._rest) + self._held

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the payloads completed by a chunk of the stream."""
        if self._after_cr and chunk:
            # The previous chunk ended with a CR; an LF after it belongs to the same line end.
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if _LINE_END.search(chunk) is None:
            self._rest.extend(chunk)
            return []
        if self._rest:
            chunk = bytes(self._rest) + chunk
            self._rest.clear()
        return self._lines(chunk)

    def finish(self) -> list[bytes]:
        """Return the remaining payloads at the end of the stream, as servers omit the last blank line."""
        payloads: list[bytes] = []
        last = bytes(self._rest)
        self._rest.clear()
        # Ignore a field name that was truncated.
        if not any(field.startswith(last) for field in _FIELDS):
            self._line(last, payloads)
        self._line(b"", payloads)
        self._end_stray(payloads)
        return payloads

    def _lines(self, chunk: bytes) -> list[bytes]:
        payloads: list[bytes] = []
        start, has_cr = 0, b"\r" in chunk
        while True:
            if not has_cr and not self._held and (events := _EVENTS.match(chunk, start)):
                payloads += events[0][6:-2].split(b"\n\ndata: ")
                start = events.end()
            elif end := _LINE_END.search(chunk, start):
                self._line(chunk[start : end.start()], payloads)
                start = end.end()
            else:
                break
        self._rest += chunk[start:]
        self._after_cr = start == len(chunk) and chunk.endswith(b"\r")
        return payloads

    def _line(self, line: bytes, payloads: list[bytes]) -> None:
        if not line:
            if self._data:
                joined = b"\n".join(self._data)
                payloads.append(ErrorField(joined) if self._is_error else joined)
                self._data = []
            self._is_error = False
            # Only an HTML page may contain blank lines; other stray text ends at one.
            if self._stray and self._stray[0].lstrip()[:1] != b"<":
                self._end_stray(payloads)
            if not self._stray:
                self._held = 0
            return
        self._held += len(line)
        name, colon, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._end_stray(payloads)
            self._data.append(value)
        elif not name and colon:
            payloads.append(Comment(value.strip()))
        elif name == b"event":
            self._is_error = value.strip().lower() == b"error"
        elif name.lower() == b"error" and colon:
            payloads.append(ErrorField(value))
        elif (
            name not in _IGNORED
            and line.strip()
            and not (colon and self._data and _UNKNOWN_FIELD.fullmatch(name))
        ):
            self._stray.append(line)

    def _end_stray(self, payloads: list[bytes]) -> None:
        if self._stray:
            payloads.append(Stray(b"\n".join(self._stray)))
            self._stray = []
