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
        self._is_plain = True
        """Whether no CR came so far; then `_rest` is an unfinished event, else an unfinished line."""
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The payloads completed by a piece of the stream."""
        if not self._begun:
            piece = self._rest + piece
            if len(piece) < len(_BOM) and _BOM.startswith(piece):
                self._rest = piece
                return []
            self._begun, self._rest = True, b""
            piece = piece.removeprefix(_BOM)
        if self._is_plain and b"\r" not in piece:
            return self._blocks(piece)
        if self._is_plain:
            self._is_plain = False
            piece, self._rest = self._rest + piece, b""
        return self._lines(piece) if piece else []

    def _blocks(self, piece: bytes) -> list[bytes]:
        """Events between blank lines: quicker than line by line, as long as lines end at LF only."""
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        payloads: list[bytes] = []
        for block in blocks:
            if block[:6] == b"data: " and b"\n" not in block:
                payloads.append(block[6:])
            else:
                for line in block.split(b"\n"):
                    self._line(line, payloads)
                self._line(b"", payloads)
        return payloads

    def _lines(self, piece: bytes) -> list[bytes]:
        buffer = self._rest + piece if self._rest else piece
        if self._after_cr:
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
        self._is_plain = False
        rest, self._rest = self._rest, b""
        payloads = self._lines(rest)
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
