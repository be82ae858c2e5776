"""The connections of an endpoint, kept for its next requests."""

from __future__ import annotations

import ssl
import time
from collections import deque
from typing import NamedTuple

from httpcore import AnyIOBackend, AsyncConnectionInterface, AsyncConnectionPool, Origin, Proxy

from workbench.client.network import JoiningBackend

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
