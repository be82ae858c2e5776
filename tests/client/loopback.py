"""A server on loopback that answers with the bytes it is told to, and sees its clients leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from workbench.domain.endpoint import Endpoint
from workbench.domain.json_values import JsonObject

STREAM = "text/event-stream"
JSON = "application/json"


@dataclass(slots=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """With lower-case names."""
    body: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the client has closed the connection."""

    @property
    def json(self) -> JsonObject:
        """The body as JSON."""
        return cast(JsonObject, json.loads(self.body))


Handler: TypeAlias = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]
"""Answers one request; the connection closes when it returns."""


@dataclass(slots=True)
class Loopback:
    """A running server; `requests` has what came, oldest first."""

    port: int
    requests: list[Received] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        """The base URL for an endpoint."""
        return f"http://127.0.0.1:{self.port}/v1"

    def endpoint(self, **fields: object) -> Endpoint:
        """An endpoint that sends its requests here, without repetitions unless told."""
        return Endpoint(**{"name": "test", "base_url": self.base_url, "retries": 0, **fields})  # type: ignore[arg-type]


def head(
    status: int = 200, content_type: str = STREAM, length: int | None = None, extra: Iterable[str] = ()
) -> bytes:
    """The head of an answer; without a length the connection's end is the body's."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {content_type}", "Connection: close", *extra]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def answering(
    body: bytes, status: int = 200, content_type: str = STREAM, extra: Iterable[str] = ()
) -> Handler:
    """A handler that answers everything with one body."""

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, content_type, len(body), extra) + body)
        await writer.drain()

    return handle


def chunked(pieces: Iterable[bytes], content_type: str = STREAM) -> Handler:
    """A handler that answers with one HTTP chunk a piece."""

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(200, content_type, extra=["Transfer-Encoding: chunked"]))
        for chunk in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return handle


def in_turn(*handlers: Handler) -> Handler:
    """A handler that answers each request by the next one, and the last one from then on."""
    waiting = list(handlers)

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        chosen = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        await chosen(received, writer)

    return handle


def hanging(first: bytes = b"") -> Handler:
    """A handler that sends some bytes and then nothing, until the client leaves."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        await writer.drain()
        await received.gone.wait()

    return handle


def event(text: str, index: int = 0, finish_reason: str | None = None, **more: object) -> bytes:
    """One event of a stream."""
    choice = {"index": index, "text": text, "finish_reason": finish_reason}
    return f"data: {json.dumps({'choices': [choice], **more})}\n\n".encode()


DONE = b"data: [DONE]\n\n"


@asynccontextmanager
async def serving(handler: Handler) -> AsyncGenerator[Loopback]:
    """A server that answers by a handler, ended on leaving."""
    tasks: set[asyncio.Task[None]] = set()
    loopback = Loopback(0)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            tasks.add(task)
        try:
            received = await _read_request(reader)
            loopback.requests.append(received)
            leaving = asyncio.create_task(_watch(reader, received))
            tasks.add(leaving)
            await handler(received, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The client left, or the server is being ended: the streams' own callback takes neither quietly.
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    loopback.port = server.sockets[0].getsockname()[1]
    try:
        yield loopback
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> Received:
    raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = raw.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


async def _watch(reader: asyncio.StreamReader, received: Received) -> None:
    try:
        await reader.read()
    except ConnectionError:
        pass
    finally:
        received.gone.set()
