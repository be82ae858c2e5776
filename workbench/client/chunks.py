"""Many small HTTP chunks made one before the HTTP library sees them: it takes them one by one, slowly.

A server that streams sends a chunk a token, and a read brings a hundred of them. Everything but the
framing of a chunked body passes through unchanged.
"""

from __future__ import annotations

import re
from enum import Enum, auto

_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_INTERIM = re.compile(rb"HTTP/1\.[01] 1\d\d")
_SIZE = re.compile(rb"\r\n([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
"""The size of a chunk, with the line end of the head or the chunk before it."""
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
        self._passed = 0
        """Bytes of `_kept` that were passed on with the head: its last line end."""
        self._left = 0
        """Bytes of content that the current chunk still has."""

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
        self._state, self._kept, self._passed = _State.CHUNKS, b"\r\n", 2
        return passed + self._join(rest)

    def _join(self, data: bytes) -> bytes:
        buffer = self._kept + data
        start = self._left
        parts = [buffer[:start]]
        while (size := _SIZE.match(buffer, start)) and (count := int(size[1], 16)):
            start = size.end() + count
            parts.append(buffer[size.end() : start])
        self._left = max(start - len(buffer), 0)
        self._kept = buffer[start:]
        content = b"".join(parts)
        # Its line end follows with what comes next: there it is seen whether the server sent one.
        joined = b"\r\n%x\r\n%s" % (len(content), content) if content else b""
        if size or self._kept.count(b"\n") > 1 or len(self._kept) > _LONGEST_LINE:
            # The last chunk, or none at all: the HTTP library knows what to do with it.
            joined += self._kept
            self._pass_through()
        if joined:
            joined, self._passed = joined[self._passed :], 0
        return joined

    def _pass_through(self) -> None:
        self._state, self._kept = _State.THROUGH, b""
