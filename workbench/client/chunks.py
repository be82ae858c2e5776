"""Many small HTTP chunks made one before the HTTP library sees them: it takes them one by one, slowly.

A server that streams sends a chunk a token, and a read brings a hundred of them. Everything but the
framing of a chunked body passes through unchanged.
"""

from __future__ import annotations

import re
from enum import Enum, auto

_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_INTERIM = re.compile(rb"HTTP/1\.[01] 1\d\d")
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_LONGEST_LINE = 4096
_LONGEST_HEAD = 256 * 1024


class _State(Enum):
    HEAD = auto()
    CHUNKS = auto()
    THROUGH = auto()


class ChunkJoiner:
    """Rewrites what a connection brings: the same answer, in fewer chunks."""

    def __init__(self) -> None:
        self._state = _State.HEAD
        self._kept = b""
        """In the head: what it has so far, passed on already. In chunks: what is still to be read."""
        self._left = 0
        """Bytes that the current chunk still has, its line end included."""

    def begin(self) -> None:
        """Expect the head of a new answer, as a request went out."""
        if self._state is not _State.HEAD:
            self._state, self._kept, self._left = _State.HEAD, b"", 0

    def feed(self, data: bytes) -> bytes:
        """What the HTTP library is to see in place of what came; empty where more must come first."""
        if self._state is _State.THROUGH:
            return data
        if self._state is _State.CHUNKS:
            return self._join(data)
        before = len(self._kept)
        self._kept += data
        end = self._kept.find(b"\r\n\r\n")
        if end < 0:
            if len(self._kept) > _LONGEST_HEAD:
                self._pass_through()
            return data
        head, rest = self._kept[: end + 4], self._kept[end + 4 :]
        passed, self._kept = head[before:], b""
        if _INTERIM.match(head):
            return passed + (self.feed(rest) if rest else b"")
        if not _CHUNKED.search(head):
            self._pass_through()
            return passed + rest
        self._state = _State.CHUNKS
        return passed + (self._join(rest) if rest else b"")

    def _join(self, data: bytes) -> bytes:
        buffer = self._kept + data if self._kept else data
        self._kept = b""
        place, length = 0, len(buffer)
        parts: list[bytes] = []
        tail = b""
        while place < length:
            if self._left:
                taken = min(self._left, length - place)
                # The last two bytes are the chunk's line end, and no content.
                parts.append(buffer[place : place + min(taken, max(self._left - 2, 0))])
                place += taken
                self._left -= taken
                continue
            size = _SIZE.match(buffer, place)
            if size is None and length - place < _LONGEST_LINE and b"\n" not in buffer[place:]:
                self._kept = buffer[place:]
                break
            count = int(size[1], 16) if size else 0
            if size is None or count == 0:
                # The last chunk, or none at all: the HTTP library knows what to do with it.
                tail = buffer[place:]
                self._pass_through()
                break
            self._left = count + 2
            place = size.end()
        content = b"".join(parts)
        return (b"%x\r\n%s\r\n" % (len(content), content) if content else b"") + tail

    def _pass_through(self) -> None:
        self._state, self._kept = _State.THROUGH, b""
