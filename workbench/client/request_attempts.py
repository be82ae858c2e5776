"""A prepared request, and its response."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.client.error_responses import ErrorResponse, error_of
from workbench.client.keys import MASK, Secret
from workbench.client.urls import Urls
from workbench.client.wire_log import WireLog
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonObject
from workbench.domain.url_display import show_url

if TYPE_CHECKING:
    from workbench.client.transport import Transport


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a response, and its body as a stream."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """With lower-case names."""
    chunks: AsyncGenerator[bytes]
    """Raises EndpointError if the connection breaks."""


_MOST_ERROR_BYTES = 256 * 1024


@dataclass(slots=True)
class Call:
    """A request to send once."""

    transport: Transport
    method: str
    url: str
    urls: Urls
    headers: Mapping[str, str]
    content: bytes
    key: Secret
    key_header: str
    wire: WireLog | None
    sent_at: float = 0.0

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[Reply]:
        """Send the request; the connection is closed on exit, unless the response was read to its end.

        Raises EndpointError for any response but a success; NotConnectedError if nothing was sent.
        """
        self.sent_at = time.perf_counter()
        if self.wire is not None:
            self.wire.sending(self.method, show_url(self.url), self._authorised(MASK), self.content, self.key)
        headers = self._authorised(self.key.reveal())
        try:
            async with self.transport.exchange(self.method, self.url, headers, self.content) as reply:
                if self.wire is not None:
                    self.wire.answered(reply.status, reply.headers)
                if not 200 <= reply.status < 300:
                    body = await read_all(reply, _MOST_ERROR_BYTES)
                    self.record(body)
                    answer = ErrorResponse(reply.status, reply.reason, reply.headers, body)
                    raise error_of(answer, self.urls, self.url, self.key.redact)
                yield reply
        except EndpointError as error:
            raise self.masked(error) from None

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
        value = f"Bearer {key}" if self.key_header.lower() == "authorization" else key
        return {**self.headers, self.key_header: value}


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
