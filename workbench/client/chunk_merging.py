"""Network streams that merge small HTTP chunks.

The HTTP library processes chunks one by one, slowly. A streaming server sends one chunk per token, and a read
may return a hundred of them. Only the framing of a chunked body is rewritten.
"""

from __future__ import annotations

import re
import ssl
from contextlib import suppress
from enum import Enum, auto
from typing import Any, cast

from httpcore import AnyIOBackend, AsyncNetworkStream, WriteError

_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_INTERIM = re.compile(rb"HTTP/1\.[01] 1\d\d")
_SIZE = re.compile(rb"\r\n([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
"""The size line of a chunk, including the line end before it."""
_LONGEST_LINE = 4096
_LONGEST_HEAD = 256 * 1024


class _State(Enum):
    HEAD = auto()
    CHUNKS = auto()
    THROUGH = auto()


class ChunkJoiner:
    """Rewrites the data received on a connection: the same response in fewer chunks."""

    def __init__(self) -> None:
        self._state = _State.HEAD
        self._kept = b""
        """In HEAD: the head so far, already passed on. In CHUNKS: data not yet parsed."""
        self._passed = 0
        """Number of bytes of `_kept` already passed on with the head: its last line end."""
        self._left = 0
        """Remaining bytes of the current chunk."""

    def begin(self) -> None:
        """Expect the head of a new response, after a request was sent."""
        if self._state is not _State.HEAD:
            self._state, self._kept, self._left = _State.HEAD, b"", 0

    def feed(self, data: bytes) -> bytes:
        """Return the data to pass to the HTTP library instead; empty if more must be received first."""
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
        # The chunk's line end is passed on with the next data, if the server sent it.
        joined = b"\r\n%x\r\n%s" % (len(content), content) if content else b""
        if size or self._kept.count(b"\n") > 1 or len(self._kept) > _LONGEST_LINE:
            # The last chunk, or invalid data, which the HTTP library handles.
            joined += self._kept
            self._pass_through()
        if joined:
            joined, self._passed = joined[self._passed :], 0
        return joined

    def _pass_through(self) -> None:
        self._state, self._kept = _State.THROUGH, b""


class JoiningBackend(AnyIOBackend):
    """Connects with streams that merge the chunks received."""

    async def connect_tcp(self, *arguments: Any, **options: Any) -> AsyncNetworkStream:
        """Connect to a host, and wrap the stream."""
        return JoiningStream(await super().connect_tcp(*arguments, **options))


class JoiningStream(AsyncNetworkStream):
    """A stream that sends each request in a single write, and whose reads return fewer, larger chunks."""

    def __init__(self, inner: AsyncNetworkStream) -> None:
        self._inner = inner
        self._joiner = ChunkJoiner()
        self._unsent = b""
        """The head and body of a request, buffered until the first read."""
        self._write_timeout: float | None = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 (the library's)
        """Send the buffered request; return received data with merged chunks, empty at the end."""
        try:
            if self._unsent:
                unsent, self._unsent = self._unsent, b""
                # A server may refuse a request before reading all of it: the response is then read below.
                with suppress(WriteError):
                    await self._inner.write(unsent, self._write_timeout)
            while data := await self._inner.read(max_bytes, timeout):
                if joined := self._joiner.feed(data):
                    return joined
        except BaseException:
            # The HTTP library leaks a connection that is cancelled while a SOCKS proxy answers.
            await self.aclose()
            raise
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 (the library's)
        """Buffer data until the next read."""
        self._joiner.begin()
        self._unsent += buffer
        self._write_timeout = timeout

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the library's own signature)
    ) -> AsyncNetworkStream:
        """Start TLS, and wrap the stream; the connection is closed if this fails or is cancelled."""
        try:
            return JoiningStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))
        except BaseException:
            await self.aclose()
            raise

    def get_extra_info(self, info: str) -> object:
        """Return information from the wrapped stream."""
        return cast(object, self._inner.get_extra_info(info))
