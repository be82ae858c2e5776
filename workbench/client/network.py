"""The HTTP library's network with what it writes and reads in small pieces joined."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import cast

from httpcore import (
    SOCKET_OPTION,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    WriteError,
)

from workbench.client.chunks import ChunkJoiner


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
