"""The connections of an endpoint, kept for its next requests; what they bring in many small chunks is joined.

The HTTP library takes chunks one by one, slowly. A server that streams sends a chunk a token, and a read
brings a hundred of them. Everything but the framing of a chunked body passes through unchanged.
"""

from __future__ import annotations

import re
import ssl
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum, auto
from typing import NamedTuple, cast

from httpcore import (
    SOCKET_OPTION,
    AnyIOBackend,
    AsyncConnectionInterface,
    AsyncConnectionPool,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    Origin,
    Proxy,
    WriteError,
)

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


_KEPT_SECONDS = 4.0
"""Many servers close a connection after 5 idle seconds: a request must not go out at that very moment."""
_REST_SECONDS = 0.05
_MOST_KEPT = 128


class _Idle(NamedTuple):
    connection: AsyncConnectionInterface
    since: float


class Pool:
    """Connections that are made as they are needed, and kept while their servers keep them.

    A connection that its server has closed is never given a request, so that nothing needs to be sent twice.
    Some servers (llama.cpp's) promise to keep a connection and close it just behind the answer: without TLS,
    where a new connection costs next to nothing, one rests for a moment before it serves again.

    The HTTP library's own pool asks the system about every kept connection at every request, several times:
    6 ms a request with 64 of them.
    """

    def __init__(self, ssl_context: ssl.SSLContext | None, proxy: Proxy | None) -> None:
        self._maker = AsyncConnectionPool(
            ssl_context=ssl_context, proxy=proxy, network_backend=JoiningBackend(AnyIOBackend())
        )
        self._idle: deque[_Idle] = deque()

    async def take(self, origin: Origin) -> AsyncConnectionInterface:
        """A connection that serves nobody else: the one that has rested longest, or a new one."""
        rest = 0.0 if origin.scheme == b"https" else _REST_SECONDS
        while self._idle and (rested := time.monotonic() - self._idle[0].since) >= rest:
            connection = self._idle.popleft().connection
            is_kept = rested < _KEPT_SECONDS and not connection.has_expired()
            if is_kept and connection.can_handle_request(origin):
                return connection
            await connection.aclose()
        return self._maker.create_connection(origin)

    async def give_back(self, connection: AsyncConnectionInterface) -> None:
        """Keep a connection whose answer was read to its end; close any other one."""
        if connection.is_available() and len(self._idle) < _MOST_KEPT:
            self._idle.append(_Idle(connection, time.monotonic()))
        else:
            await connection.aclose()

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            await self._idle.popleft().connection.aclose()


class JoiningBackend(AsyncNetworkBackend):
    """Connects as another backend does, and joins the chunks of what comes."""

    def __init__(self, inner: AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the library's own signature)
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """A joined stream to a host."""
        return JoiningStream(
            await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        )

    async def sleep(self, seconds: float) -> None:
        """Wait, as the other backend does."""
        await self._inner.sleep(seconds)


class JoiningStream(AsyncNetworkStream):
    """A stream that sends a request in one piece, and whose reads bring fewer, larger chunks."""

    def __init__(self, inner: AsyncNetworkStream) -> None:
        self._inner = inner
        self._joiner = ChunkJoiner()
        self._unsent = b""
        """What is written, until an answer is waited for: the head of a request, then its body."""
        self._write_timeout: float | None = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 (the library's)
        """Send what is written; what came then, with its chunks joined, and nothing at the end."""
        try:
            if self._unsent:
                unsent, self._unsent = self._unsent, b""
                # A server may refuse a request before it has read it to its end: reading brings the answer.
                with suppress(WriteError):
                    await self._inner.write(unsent, self._write_timeout)
            while data := await self._inner.read(max_bytes, timeout):
                if joined := self._joiner.feed(data):
                    return joined
        except BaseException:
            # The HTTP library loses a connection that is cancelled while a SOCKS proxy answers.
            await self.aclose()
            raise
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 (the library's)
        """Keep until the next read; an answer's head comes next."""
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
        """The joined stream within TLS; the connection is closed where that fails or is cancelled."""
        try:
            return JoiningStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))
        except BaseException:
            await self.aclose()
            raise

    def get_extra_info(self, info: str) -> object:
        """What the inner stream knows of itself."""
        return cast(object, self._inner.get_extra_info(info))
