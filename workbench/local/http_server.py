"""HTTP/1.1 for the local server: reads requests, writes responses, and drops clients that stall."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import h11
import msgspec

from workbench.domain.errors import EngineError
from workbench.domain.json_values import JsonValue
from workbench.local.refusal import Refusal

if TYPE_CHECKING:
    from workbench.local.routes import CompletionsApp

MOST_BODY = 8 * 1024 * 1024
"""Maximum bytes of a request's body."""
_MOST_DROPPED = 128 * 1024 * 1024
"""Maximum bytes of a refused body that are read and dropped."""
_DROP_SECONDS = 10.0
_READ = 65536


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Timeouts of clients, and the number of connections."""

    read_seconds: float = 60.0
    """Timeout for the next bytes of a request, or for the next request."""
    write_seconds: float = 30.0
    """Timeout for a client to read the bytes sent to it."""
    connections: int = 512
    """If exceeded, the oldest connection that waits for its client is closed."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request; created without its body."""

    method: str
    host: str
    """The requested host and port, in lower case; empty if the request names none."""
    path: str
    headers: Mapping[str, str]
    """Values by lower-case name; repeated headers are joined by commas."""
    content: bytes = b""


Handler: TypeAlias = "Callable[[HttpRequest, ResponseWriter], Coroutine[None, None, None]]"


class HttpServer:
    """Serves an application on a socket until it is stopped."""

    def __init__(self, app: CompletionsApp, limits: ClientLimits | None = None) -> None:
        self._app = app
        self._limits = limits or ClientLimits()
        self._connections: dict[asyncio.Task[None], _Connection] = {}
        self._is_stopped = asyncio.Event()

    async def serve(self, listener: socket.socket) -> None:
        """Answer requests until `stop` is called, then finish those in progress."""
        server = await asyncio.start_server(self._accept, sock=listener)
        await self._is_stopped.wait()
        server.close()
        for task, connection in self._connections.items():
            connection.is_ending = True
            if connection.is_idle:
                task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    def stop(self) -> None:
        """Accept no more requests."""
        self._is_stopped.set()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self._app, self._limits, reader, writer)
        task = asyncio.create_task(connection.serve())
        self._connections[task] = connection
        task.add_done_callback(self._connections.pop)
        if len(self._connections) > self._limits.connections:
            idle = (task for task, connection in self._connections.items() if connection.is_idle)
            next(idle, task).cancel()


@dataclass(eq=False, slots=True)
class _Connection:
    """One client's connection, which carries one request at a time."""

    _app: CompletionsApp
    _limits: ClientLimits
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.SERVER))
    is_idle: bool = True
    """Whether it waits for its client to send a request or the remainder of one."""
    is_ending: bool = False
    """Whether the current request is the last."""

    @property
    def is_last_request(self) -> bool:
        """Whether the connection closes after the current request."""
        return self.is_ending or self._http.their_state is not h11.DONE

    async def serve(self) -> None:
        """Answer requests until the connection closes."""
        try:
            while await self._exchange():
                self.is_idle = True
                self._http.start_next_cycle()
            if self._http.their_state in (h11.SEND_BODY, h11.ERROR):
                await self._drop_rest()
        except OSError:
            self._writer.transport.abort()
        finally:
            self._writer.close()

    async def write(self, *events: h11.Event) -> None:
        """Send parts of a response. Raises ConnectionError if the client is gone or stopped reading."""
        await self._write(b"".join(filter(None, map(self._http.send, events))))

    async def write_chunk(self, data: bytes) -> None:
        """Send a part of a body of unknown length. Raises ConnectionError as `write` does."""
        # Framed here because h11's framing takes longer than all other steps of sending a token.
        is_chunked = (self._http.their_http_version or b"") >= b"1.1"
        await self._write(b"%x\r\n%b\r\n" % (len(data), data) if is_chunked else data)

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size():
            try:
                async with asyncio.timeout(self._limits.write_seconds):
                    await self._writer.drain()
            except TimeoutError:
                raise ConnectionAbortedError("the client stopped reading") from None

    async def _exchange(self) -> bool:
        """Read and answer one request; return whether the connection can carry another."""
        response = ResponseWriter(self)
        try:
            head = await self._next_event()
            if not isinstance(head, h11.Request):
                return False
            request = _read_head(head)
            response = ResponseWriter(self, request.method == "HEAD", dict(self._app.headers(request)))
            handler = self._app.route(request)
            request = replace(request, content=await self._read_body(request))
        except h11.RemoteProtocolError as error:
            await response.refuse(Refusal(error.error_status_hint, f"the request is not valid HTTP: {error}"))
        except Refusal as refusal:
            self._skip_received_body()
            await response.refuse(refusal)
        else:
            self.is_idle = False
            await self._answer(handler(request, response), response)
        return self._http.our_state is h11.DONE and not self.is_last_request

    async def _answer(self, handling: Coroutine[None, None, None], response: ResponseWriter) -> None:
        """Run a handler until it finishes or its client hangs up."""
        task, hang_up = asyncio.create_task(handling), asyncio.create_task(self._hang_up())
        try:
            await asyncio.wait({task, hang_up}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hang_up.cancel()
            task.cancel()
            await asyncio.gather(task, hang_up, return_exceptions=True)
        if task.cancelled():
            raise ConnectionAbortedError("the client hung up")
        error = task.exception()
        if isinstance(error, ConnectionError):
            raise error
        if error is not None:
            await response.refuse(_refusal_of(error))

    async def _next_event(self) -> object:
        """Return the next event of the client's request. Raises h11.RemoteProtocolError or OSError."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            async with asyncio.timeout(self._limits.read_seconds):
                self._http.receive_data(await self._reader.read(_READ))
        return event

    async def _read_body(self, request: HttpRequest) -> bytes:
        too_long = Refusal(413, f"the body is longer than {MOST_BODY} bytes")
        if int(request.headers.get("content-length", 0)) > MOST_BODY:
            raise too_long
        if self._http.they_are_waiting_for_100_continue:
            await self.write(h11.InformationalResponse(status_code=100, headers=[]))
        content = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            content += event.data
            if len(content) > MOST_BODY:
                raise too_long
        return bytes(content)

    def _skip_received_body(self) -> None:
        with suppress(h11.RemoteProtocolError):
            while isinstance(self._http.next_event(), h11.Data):
                pass

    async def _hang_up(self) -> None:
        """Wait until the client hangs up; bytes that it sends meanwhile belong to its next request."""
        ahead = 0
        while data := await self._reader.read(_READ):
            self._http.receive_data(data)
            ahead += len(data)
            if ahead > _READ:
                await asyncio.Event().wait()

    async def _drop_rest(self) -> None:
        """Read a refused request to its end, because closing earlier could lose the response."""
        dropped = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DROP_SECONDS):
                await self._writer.drain()
                self._writer.write_eof()
                while dropped <= _MOST_DROPPED and (data := await self._reader.read(_READ)):
                    dropped += len(data)


@dataclass(slots=True)
class ResponseWriter:
    """Writes the response to one request: one JSON object, or a stream of server-sent events."""

    _connection: _Connection
    _is_bare: bool = False
    """Whether the response has no body because the request's method is HEAD."""
    _headers: dict[str, str] = field(default_factory=dict)
    _has_begun: bool = False

    async def send(
        self, content: Mapping[str, JsonValue], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a JSON object as the whole response."""
        data = dump(content)
        head = self._head(
            status, {**(headers or {}), "Content-Type": "application/json", "Content-Length": str(len(data))}
        )
        body = () if self._is_bare else (h11.Data(data=data),)
        await self._connection.write(head, *body, h11.EndOfMessage())

    async def send_nothing(self, headers: Mapping[str, str]) -> None:
        """Send a response without a body (204)."""
        await self._connection.write(self._head(204, headers), h11.EndOfMessage())

    async def begin_events(self) -> None:
        """Begin a stream of server-sent events, unless it has begun."""
        if not self._has_begun:
            kind = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
            await self._connection.write(self._head(200, kind))

    async def send_events(self, *events: bytes) -> None:
        """Send one event for each item of data."""
        await self._connection.write_chunk(b"".join(b"data: %b\n\n" % data for data in events))

    async def end_events(self) -> None:
        """End the stream of events."""
        await self._connection.write(h11.EndOfMessage())

    async def refuse(self, refusal: Refusal) -> None:
        """Send an error: as the response, or as the last event of a stream that has begun."""
        if self._has_begun:
            await self.send_events(dump(refusal.body()))
            await self.end_events()
        else:
            await self.send(refusal.body(), refusal.status, refusal.headers)

    def _head(self, status: int, headers: Mapping[str, str]) -> h11.Response:
        self._has_begun = True
        close = {"Connection": "close"} if self._connection.is_last_request else {}
        return h11.Response(
            status_code=status,
            reason=HTTPStatus(status).phrase,
            headers=list({**self._headers, **headers, **close}.items()),
        )


def dump(content: Mapping[str, JsonValue]) -> bytes:
    """Encode a JSON object in ASCII, because some clients treat U+2028 and the like as line ends."""
    # The faster encoder writes UTF-8, which has no lone surrogates.
    with suppress(UnicodeEncodeError):
        if (data := _ENCODER.encode(content)).isascii():
            return data
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


_ENCODER = msgspec.json.Encoder()


def log_failure(error: BaseException) -> None:
    """Log an unexpected error with its type and location, without its message, which may quote a request."""
    frames = traceback.extract_tb(error.__traceback__)
    locations = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    sys.stderr.write(f"Unexpected {type(error).__name__} at {locations}\n")


def _read_head(head: h11.Request) -> HttpRequest:
    headers: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    host, path = headers.get("host", ""), head.target.decode()
    if path[:7].lower() == "http://":
        host, slash, path = path[7:].partition("/")
        path = slash + path
    return HttpRequest(head.method.decode(), host.lower(), unquote(path.partition("?")[0]), headers)


def _refusal_of(error: BaseException) -> Refusal:
    """Return the response to an error, and log the error if it is unexpected."""
    match error:
        case Refusal():
            return error
        case EngineError():
            return Refusal(503, str(error))
        case _:
            log_failure(error)
            return Refusal(500, "internal error; the server's log says where")
