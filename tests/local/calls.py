"""A server over a scripted engine on loopback, and requests whose client may leave before the answer."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import h11

from tests.local.fakes import FakeEngine
from workbench.domain.json_values import JsonValue
from workbench.local.access import Access
from workbench.local.http_server import ClientLimits, HttpServer
from workbench.local.routes import CompletionsApp

DEADLINE = 10


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> dict[str, JsonValue]:
        value = json.loads(self.content)
        assert isinstance(value, dict)
        return value

    @property
    def events(self) -> list[str]:
        return [part.removeprefix("data: ") for part in self.content.decode().split("\n\n") if part]


@dataclass
class Call:
    """One request to a server on loopback, in the middle of which the client may hang up."""

    port: int
    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.changed = asyncio.Event()
        """Set as soon as something of the answer's body has come."""
        self._hung_up = asyncio.Event()

    async def run(self) -> Answer:
        """The answer; a client that hung up has none. Raises ConnectionError where there is none."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            client = h11.Connection(h11.CLIENT)
            headers = {
                "host": "127.0.0.1",
                "content-type": "application/json",
                "content-length": str(len(self.content)),
                "connection": "close",
                **{name.lower(): value for name, value in self.headers.items()},
            }
            request = h11.Request(
                method=self.method,
                target=self.path,
                headers=[(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
            )
            for event in (request, h11.Data(data=self.content), h11.EndOfMessage()):
                writer.write(client.send(event) or b"")
            reading = asyncio.create_task(self._read(client, reader))
            leaving = asyncio.create_task(self._hung_up.wait())
            await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            if not reading.done():
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                raise ConnectionAbortedError
            return reading.result()
        finally:
            writer.close()

    def hang_up(self) -> None:
        self._hung_up.set()

    async def _read(self, client: h11.Connection, reader: asyncio.StreamReader) -> Answer:
        head: h11.Response | None = None
        content = b""
        while True:
            match client.next_event():
                case h11.Response() as begun:
                    head = begun
                case h11.Data(data=data):
                    content += bytes(data)
                    self.changed.set()
                case h11.EndOfMessage() if head is not None:
                    headers = {name.decode(): value.decode() for name, value in head.headers}
                    return Answer(head.status_code, headers, content)
                case h11.ConnectionClosed():
                    raise ConnectionResetError
                case _:
                    client.receive_data(await reader.read(65536))


@asynccontextmanager
async def listening(server: CompletionsApp, limits: ClientLimits | None = None) -> AsyncIterator[int]:
    """A server on loopback; gives its port."""
    http = HttpServer(server, limits)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(http.serve(listener))
        try:
            yield listener.getsockname()[1]
        finally:
            server.stop()
            http.stop()
            await serving


@asynccontextmanager
async def serving(
    engine: FakeEngine,
    *,
    key: str | None = None,
    slots: int = 2,
    queue: int = 4,
    origins: Collection[str] = (),
    limits: ClientLimits | None = None,
) -> AsyncIterator[int]:
    server = CompletionsApp("fake", slots, queue, Access(key, frozenset(origins)))
    server.attach(engine)
    async with listening(server, limits) as port:
        try:
            yield port
        finally:
            engine.gate.set()
            engine.close()


async def complete(app: int, **fields: JsonValue) -> Answer:
    return await post(app, "/v1/completions", json.dumps({"model": "fake", "prompt": "x", **fields}).encode())


async def post(app: int, path: str, content: bytes, **headers: str) -> Answer:
    return await Call(app, "POST", path, content, headers).run()


async def get(app: int, path: str, **headers: str) -> Answer:
    return await Call(app, "GET", path, b"", headers).run()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - what is waited for lives in other threads
            await asyncio.sleep(0.005)
