"""A prepared request that can be attempted several times, and its response."""

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
    """The exchange failed after the connection was established; `error` has the reason."""

    def __init__(self, error: EndpointError) -> None:
        super().__init__(error.title)
        self.error = error


class NotConnectedError(BrokenError):
    """No connection was established, so nothing was sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a response, and its body as a stream."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """With lower-case names."""
    chunks: AsyncGenerator[bytes]
    """Raises BrokenError if the connection breaks."""


_MOST_ERROR_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Refused:
    """An attempt that failed without an answer."""

    error: EndpointError
    connected: bool


@dataclass(slots=True)
class Call:
    """A request that can be sent repeatedly."""

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
        """Send the request; `stack` closes the connection of a reply.

        Raises EndpointError if the connection broke after the request may have been sent.
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
        """Add a chunk of the response body to the wire log, if there is one."""
        if self.wire is not None:
            self.wire.received(time.perf_counter() - self.sent_at, chunk)

    def masked(self, error: EndpointError) -> EndpointError:
        """Mask the key in a connection error, whose message may contain bytes sent by the endpoint."""
        error.title, error.message = self.key.redact(error.title), self.key.redact(error.message)
        return error

    def _authorised(self, key: str) -> dict[str, str]:
        if not self.key:
            return dict(self.headers)
        name = self.endpoint.key_header
        value = f"Bearer {key}" if name.lower() == "authorization" else key
        return {**self.headers, name: value}


async def read_all(reply: Reply, most: int) -> bytes:
    """Read the body, stopping after more than `most` bytes."""
    body = bytearray()
    async for chunk in reply.chunks:
        body += chunk
        if len(body) > most:
            break
    return bytes(body)


def encode(body: JsonObject) -> bytes:
    """Encode a request body as JSON. Raises EndpointError for values that JSON cannot represent."""
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:
        # A lone surrogate, which JSON can escape but UTF-8 cannot encode.
        return json.dumps(body, separators=(",", ":")).encode()
    except (ValueError, TypeError) as error:
        raise EndpointError(
            "The request cannot be written as JSON", str(error), "Infinity and NaN are not valid JSON."
        ) from None
