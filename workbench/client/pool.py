"""Connection pool of an endpoint: its idle connections are kept for later requests."""

from __future__ import annotations

import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from httpcore import AsyncConnectionInterface, AsyncConnectionPool, Origin, Proxy

from workbench.client.chunk_merging import JoiningBackend

_KEPT_SECONDS = 4.0
"""Seconds to keep an idle connection; less than 5, after which many servers close it."""
_REST_SECONDS = 0.05
_MOST_KEPT = 128


class Pool:
    """Connections that are created on demand and reused while their servers keep them open.

    A connection closed by the server is never reused, so that no request must be sent twice. Some servers
    (llama.cpp's) announce keep-alive but close the connection just after the response: without TLS, where a
    new connection is cheap, a connection is reused only after a short pause.

    The HTTP library's own pool polls every idle connection several times per request, which takes 6 ms with
    64 connections.
    """

    def __init__(self, ssl_context: ssl.SSLContext | None, proxy: Proxy | None) -> None:
        self._factory = AsyncConnectionPool(
            ssl_context=ssl_context, proxy=proxy, network_backend=JoiningBackend()
        )
        self._idle: deque[tuple[AsyncConnectionInterface, float]] = deque()
        """Each with the time since when it is idle; the one unused for longest is the first."""

    @asynccontextmanager
    async def connection(self, origin: Origin) -> AsyncGenerator[AsyncConnectionInterface]:
        """Lend a connection; it is kept if its response was read to the end, and else closed."""
        connection = await self._take(origin)
        try:
            yield connection
        finally:
            if connection.is_available() and len(self._idle) < _MOST_KEPT:
                self._idle.append((connection, time.monotonic()))
            else:
                await connection.aclose()

    async def _take(self, origin: Origin) -> AsyncConnectionInterface:
        """Return an idle connection, the one unused for longest, or a new connection."""
        rest = 0.0 if origin.scheme == b"https" else _REST_SECONDS
        while self._idle and (rested := time.monotonic() - self._idle[0][1]) >= rest:
            connection = self._idle.popleft()[0]
            is_kept = rested < _KEPT_SECONDS and not connection.has_expired()
            if is_kept and connection.can_handle_request(origin):
                return connection
            await connection.aclose()
        return self._factory.create_connection(origin)

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.popleft()[0].aclose()
