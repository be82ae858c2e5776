"""Requests on kept connections, and what goes into each of them."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.client.loopback import DONE, answering, event, serving
from workbench.client.chunk_merging import JoiningBackend
from workbench.client.client import Client
from workbench.client.events import Delta, End, Error, Event
from workbench.client.transport import Transport
from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request

REQUEST = Request(TextPrompt("Hi"))
ANSWER = event("a", finish_reason="stop") + DONE


@dataclass(slots=True)
class Keeping:
    """A server that keeps its connections, with what it has seen."""

    port: int = 0
    came: list[int] = field(default_factory=list)
    """For each request, the number of the connection that it came on."""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    """By number of the connection."""
    gone: list[asyncio.Event] = field(default_factory=list)
    """By number of the connection: set once the client has closed it."""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("test", f"http://127.0.0.1:{self.port}/v1", retries=0)


def whole(number: int) -> bytes:
    """A whole answer to any request."""
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(ANSWER)
        + ANSWER
    )


@asynccontextmanager
async def keeping(answer: Callable[[int], bytes] = whole) -> AsyncGenerator[Keeping]:
    """`answer` gets the request's number on its connection, from 0; an empty answer closes the connection."""
    seen = Keeping()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, served = len(seen.writers), 0
        seen.writers.append(writer)
        seen.gone.append(asyncio.Event())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
                seen.came.append(number)
                if not (data := answer(served)):
                    break
                writer.write(data)
                served += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            seen.gone[number].set()
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    seen.port = server.sockets[0].getsockname()[1]
    async with server:
        yield seen


async def sent(client: Client, server: Keeping) -> list[Event]:
    return [received async for received in client.stream(server.endpoint, REQUEST)]


async def until_kept(client: Client, server: Keeping) -> None:
    """Send until a request comes on a connection that has served already."""
    while len(server.came) == len(set(server.came)):
        assert not any(isinstance(received, Error) for received in await sent(client, server))


async def test_a_connection_that_has_rested_serves_again() -> None:
    async with keeping() as server, aclosing(Client({})) as client:
        await until_kept(client, server)
        assert len(server.writers) < len(server.came)


async def test_a_kept_connection_that_its_server_closed_gets_no_request() -> None:
    async with keeping() as server, aclosing(Client({})) as client:
        await until_kept(client, server)
        before, old = len(server.came), len(server.writers)
        for writer in server.writers:
            writer.close()
            await writer.wait_closed()
        events = await sent(client, server)
        assert not any(isinstance(received, Error) for received in events)
        assert server.came[before:] == [old]


async def test_a_request_that_went_out_on_a_kept_connection_is_not_sent_twice() -> None:
    async with keeping(lambda served: b"" if served else whole(0)) as server, aclosing(Client({})) as client:
        events = await sent(client, server)
        while not any(isinstance(received, Error) for received in events):
            events = await sent(client, server)
        assert [received.error.title for received in events if isinstance(received, Error)] == [
            "Connection lost"
        ]
        assert server.came.count(server.came[-1]) == 2
        assert len(server.came) == len(server.writers) + 1


async def test_a_stream_that_is_left_closes_its_connection() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n" + event("a")
    async with keeping(lambda _: head) as server, aclosing(Client({})) as client:
        async with aclosing(client.stream(server.endpoint, REQUEST)) as events:
            async for received in events:
                if isinstance(received, Delta):
                    break
        await server.gone[0].wait()


@asynccontextmanager
async def silent() -> AsyncGenerator[tuple[int, asyncio.Event, asyncio.Event]]:
    """A server that reads and never answers: its port, when it was sent something, and when it was left."""
    spoken_to, left = asyncio.Event(), asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            spoken_to.set()
        left.set()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], spoken_to, left


async def test_a_request_that_is_cancelled_in_the_tls_handshake_closes_its_connection() -> None:
    async with silent() as (port, spoken_to, left), aclosing(Client({})) as client:
        models = asyncio.create_task(client.models(Endpoint("test", f"https://127.0.0.1:{port}/v1")))
        await spoken_to.wait()
        models.cancel()
        await left.wait()
        with pytest.raises(asyncio.CancelledError):
            await models


async def test_a_read_that_is_cancelled_closes_its_connection() -> None:
    async with silent() as (port, spoken_to, left):
        stream = await JoiningBackend().connect_tcp("127.0.0.1", port)
        await stream.write(b"\x05\x01\x00")
        reading = asyncio.create_task(stream.read(4096))
        await spoken_to.wait()
        reading.cancel()
        await left.wait()
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_a_write_that_is_cancelled_closes_its_connection() -> None:
    reached, cancelled, left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        reached.set()
        await cancelled.wait()
        with suppress(ConnectionError):
            while await reader.read(1 << 20):
                pass
        left.set()
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        stream = await JoiningBackend().connect_tcp(*server.sockets[0].getsockname())
        await stream.write(bytes(64 << 20))
        writing = asyncio.create_task(stream.read(4096))
        await reached.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        cancelled.set()
        await left.wait()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(ANSWER, mtime=0)),
        ("x-gzip", gzip.compress(ANSWER, mtime=0)),
        ("deflate", zlib.compress(ANSWER)),
        ("deflate", zlib.compress(ANSWER, wbits=-15)),
    ],
)
async def test_a_compressed_answer_is_read(encoding: str, body: bytes) -> None:
    handler = answering(body, extra=[f"Content-Encoding: {encoding}"])
    async with serving(handler) as server, aclosing(Client({})) as client:
        events = [received async for received in client.stream(server.endpoint(), REQUEST)]
    assert (
        "".join(token.text for received in events if isinstance(received, Delta) for token in received.tokens)
        == "a"
    )


@pytest.mark.parametrize(("encoding", "body"), [("gzip", b"no gzip"), ("br", b"x")])
async def test_an_answer_that_cannot_be_unpacked_is_an_error(encoding: str, body: bytes) -> None:
    handler = answering(body, extra=[f"Content-Encoding: {encoding}"])
    async with serving(handler) as server, aclosing(Client({})) as client:
        events = [received async for received in client.stream(server.endpoint(), REQUEST)]
    (failed,) = (received for received in events if isinstance(received, Error))
    assert failed.error.title == "The answer is compressed in a way that cannot be read"


async def test_an_address_goes_out_as_http_spells_it() -> None:
    async with serving(answering(ANSWER)) as server:
        base = f"http://me%40x:s3cret@127.0.0.1:{server.port}/modèle a/v1?api-version=1&ü=%20"
        endpoint = server.endpoint(base_url=base, headers={"user-agent": "mine"})
        async with aclosing(Client({})) as client:
            assert [received async for received in client.stream(endpoint, REQUEST)][-1] == End()
        (request,) = server.requests
    assert request.path == "/mod%C3%A8lea/v1/completions?api-version=1&%C3%BC=%20"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["authorization"] == f"Basic {b64encode(b'me@x:s3cret').decode()}"
    assert request.headers["user-agent"] == "mine"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("base", "host"),
    [
        ("http://bücher.example/v1", "xn--bcher-kva.example"),
        ("http://Example.COM:80/v1", "example.com"),
        ("http://example.com:8080/v1", "example.com:8080"),
        ("http://[::1]:8080/v1", "[::1]:8080"),
    ],
)
async def test_the_host_is_named_in_ascii_without_its_usual_port(base: str, host: str) -> None:
    async with serving(answering(ANSWER)) as proxy:
        transport = Transport(Endpoint("test", base, proxy=f"http://127.0.0.1:{proxy.port}"))
        async with transport.exchange("GET", f"{base}/models", {}) as reply:
            assert reply.status == 200
        await transport.aclose()
        assert proxy.requests[0].headers["host"] == host
