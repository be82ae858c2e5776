"""Server-sent events from bytes, one piece at a time, tolerant of what real servers send.

Lines end at CRLF, LF or CR and nowhere else: JSON texts may hold U+2028, U+0085 and the like.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class ErrorField(bytes):
    """The value of an `error:` field, which old llama.cpp servers send in place of `data:`."""

    __slots__ = ()


class Comment(bytes):
    """A comment line: a sign of life, never text."""

    __slots__ = ()


class SseParser:
    """Turns pieces of a stream into the payloads of its events, in order.

    A payload is what the event's `data:` lines hold, joined by LF; `ErrorField` and `Comment` mark the
    other two things that servers say.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._begun = False
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The payloads completed by a piece of the stream."""
        # Most servers send one whole event a piece.
        if (
            piece[:6] == b"data: "
            and piece.find(b"\n") == len(piece) - 2
            and piece[-2:] == b"\n\n"
            and self._is_between_events
            and b"\r" not in piece
        ):
            return [piece[6:-2]]
        return self._feed(piece) if piece else []

    @property
    def _is_between_events(self) -> bool:
        return self._begun and not self._rest and not self._data and not self._after_cr

    def _feed(self, piece: bytes) -> list[bytes]:
        buffer = self._rest + piece if self._rest else piece
        if not self._begun:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._rest = buffer
                return []
            self._begun = True
            buffer = buffer.removeprefix(_BOM)
        if self._after_cr and buffer:
            # The CR has ended its line already; an LF behind it belongs to it.
            buffer = buffer.removeprefix(b"\n")
            self._after_cr = False
        payloads: list[bytes] = []
        start = 0
        for end in _LINE_END.finditer(buffer, self._resume(buffer, piece)):
            self._line(buffer[start : end.start()], payloads)
            start = end.end()
        self._rest = buffer[start:]
        self._after_cr = start == len(buffer) and buffer.endswith(b"\r")
        return payloads

    @staticmethod
    def _resume(buffer: bytes, piece: bytes) -> int:
        # What was kept holds no line end, so a long line is not searched again with every piece.
        return max(len(buffer) - len(piece), 0)

    def finish(self) -> list[bytes]:
        """What an ended stream still held: servers forget the last blank line."""
        payloads: list[bytes] = []
        if self._rest:
            self._line(self._rest, payloads)
            self._rest = b""
        self._line(b"", payloads)
        return payloads

    def _line(self, line: bytes, payloads: list[bytes]) -> None:
        if not line:
            if self._data:
                payloads.append(b"\n".join(self._data))
                self._data = []
            return
        name, colon, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
        elif not name and colon:
            payloads.append(Comment(value.strip()))
        elif name == b"error":
            payloads.append(ErrorField(value))
