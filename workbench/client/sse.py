"""Server-sent events from bytes, one chunk at a time, tolerant of what real servers send.

Lines end at CRLF, LF or CR and nowhere else: JSON texts may hold U+2028, U+0085 and the like.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")
_EVENTS = re.compile(rb"(?:data: .*+\n\n)++")
"""Events of one `data:` line each, as nearly all are, where no line ends at a CR."""
_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b"error:")
_IGNORED = frozenset((b"id", b"retry"))
_UNKNOWN_FIELD = re.compile(rb"[A-Za-z][\w-]*")


class ErrorField(bytes):
    """What an event named `error` holds, or an `error:` field, which old llama.cpp servers send."""

    __slots__ = ()


class Stray(bytes):
    """Lines that are not a field of an event: what a proxy or a failing server wrote into the stream."""

    __slots__ = ()


class Comment(bytes):
    """A comment line: a sign of life, never text."""

    __slots__ = ()


class SseParser:
    """Turns chunks of a stream into the payloads of its events, in order.

    A payload is what the event's `data:` lines hold, joined by LF; `ErrorField`, `Comment` and `Stray` mark
    the other things that servers write.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        """The line that is not finished yet."""
        self._data: list[bytes] = []
        self._stray: list[bytes] = []
        self._is_error = False
        """Whether the unfinished event calls itself an error."""
        self._held = 0
        """Bytes in the lines of the unfinished event."""
        self._has_started = False
        self._after_cr = False

    @property
    def pending(self) -> int:
        """Bytes of the event that is not finished yet."""
        return len(self._rest) + self._held

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads completed by a chunk of the stream."""
        if not self._has_started:
            chunk = bytes(self._rest) + chunk
            self._rest[:] = chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                return []
            self._has_started = True
            self._rest.clear()
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr and chunk:
            # The CR has ended its line already; an LF behind it belongs to it.
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
        """What an ended stream still held: servers forget the last blank line."""
        payloads: list[bytes] = []
        last = bytes(self._rest)
        self._rest.clear()
        # A stream that was cut within a field's name holds nothing of it.
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
            # A page may have blank lines; anything else ends at one.
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
