"""Refusals that reach clients which are still sending."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_DROPPED = 128 * 1024 * 1024
"""Bytes of a refused body that are read and dropped at most."""
_PATIENCE = 10.0
"""Seconds for them."""


class Draining:
    """Reads what is left of a request's body before its answer begins.

    A server that answers and closes while the client still sends breaks the connection, and the client sees
    that in place of the answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as the application does."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE):
                        await body.drop()
            await send(message)

        await self._app(scope, body.receive, answer)


class _Body:
    """The body of a request, and whether there is more of it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._has_more = True

    async def receive(self) -> Message:
        message = await self._receive()
        self._has_more = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def drop(self) -> None:
        dropped = 0
        while self._has_more and dropped <= MOST_DROPPED:
            dropped += len((await self.receive()).get("body", b""))
