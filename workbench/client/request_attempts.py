"""One request on its way to an endpoint, which may take several attempts, and the reply to it."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.client.error_responses import ErrorResponse, error_of
from workbench.client.keys import MASK, Secret
from workbench.client.urls import Urls, shown
from workbench.client.wire_log import WireLog
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonObject

if TYPE_CHECKING:
    from workbench.client.transport import Transport


class BrokenError(Exception):
    """The exchange broke after the connection stood; `error` says why."""

    def __init__(self, error: EndpointError) -> None:
        super().__init__(error.title)
        self.error = error


class NotConnectedError(BrokenError):
    """No connection came about, so nothing was sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of an answer, and its body as it comes."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """With lower-case names."""
    chunks: AsyncGenerator[bytes]
    """Raises BrokenError where the connection breaks off."""


_MOST_ERROR_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Refused:
    """An attempt that brought no answer."""

    error: EndpointError
    connected: bool


@dataclass(slots=True)
class Call:
    """One request, ready to be sent as often as needed."""

    endpoint: Endpoint
    transport: Transport
    method: str
    url: str
    urls: Urls
    headers: Mapping[str, str]
    content: bytes
    key: Secret
    wire: WireLog | None
    sent_at: float = 0.0

    async def attempt(self, stack: AsyncExitStack) -> Reply | Refused:
        """Send the request; the answer's connection is the stack's to close.

        Raises EndpointError where the connection broke off after the request may have gone out.
        """
        self.sent_at = time.perf_counter()
        if self.wire is not None:
            self.wire.sending(self.method, shown(self.url), self._authorised(MASK), self.content, self.key)
        headers = self._authorised(self.key.reveal())
        exchange = self.transport.exchange(self.method, self.url, headers, self.content)
        async with AsyncExitStack() as trial:
            try:
                reply = await trial.enter_async_context(exchange)
                if self.wire is not None:
                    self.wire.answered(reply.status, reply.headers)
                if 200 <= reply.status < 300:
                    stack.push_async_callback(trial.pop_all().aclose)
                    return reply
                body = await read_all(reply, _MOST_ERROR_BYTES)
            except NotConnectedError as failure:
                return Refused(self.masked(failure.error), connected=False)
            except BrokenError as failure:
                raise self.masked(failure.error) from None
            self.record(body)
            answer = ErrorResponse(reply.status, reply.reason, reply.headers, body)
            return Refused(error_of(answer, self.urls, self.url, self.key.redact), connected=True)

    def record(self, chunk: bytes) -> None:
        """Keep a chunk of the answer's body, where the exchange is recorded."""
        if self.wire is not None:
            self.wire.received(time.perf_counter() - self.sent_at, chunk)

    def masked(self, error: EndpointError) -> EndpointError:
        """The error of a connection, whose words may repeat bytes that the endpoint sent, without the key."""
        error.title, error.message = self.key.redact(error.title), self.key.redact(error.message)
        return error

    def _authorised(self, key: str) -> dict[str, str]:
        if not self.key:
            return dict(self.headers)
        name = self.endpoint.key_header
        value = f"Bearer {key}" if name.lower() == "authorization" else key
        return {**self.headers, name: value}


async def read_all(reply: Reply, most: int) -> bytes:
    """The body, or its first part where it is longer than `most` bytes."""
    body = bytearray()
    async for chunk in reply.chunks:
        body += chunk
        if len(body) > most:
            break
    return bytes(body)


def encode(body: JsonObject) -> bytes:
    """The body in bytes. Raises EndpointError for what JSON cannot hold."""
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:
        # A lone surrogate: JSON can spell it, UTF-8 cannot.
        return json.dumps(body, separators=(",", ":")).encode()
    except (ValueError, TypeError) as error:
        raise EndpointError(
            "The request cannot be written as JSON", str(error), "Infinity and NaN are not valid JSON."
        ) from None
