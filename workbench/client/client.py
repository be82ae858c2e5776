"""Client for endpoints: streams completions, lists models, tokenises, and finds the context size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing, suppress
from operator import attrgetter
from typing import TYPE_CHECKING

from workbench.client.events import End, Error, Event, RequestSent, ResponseStarted
from workbench.client.exact_dialect import Json, Pairs, parse
from workbench.client.keys import Keys
from workbench.client.request_attempts import Call, Reply, encode, read_all
from workbench.client.response_body import ResponseBody
from workbench.client.retries import can_retry
from workbench.client.urls import normalise
from workbench.client.wire_log import WireLog
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.request import Request
from workbench.domain.url_display import show_url

if TYPE_CHECKING:
    from workbench.client.transport import Transport


def listed_models(value: Json, url: str) -> list[str]:
    """Return the names in a list of models: OpenAI's object, a bare array, or llama.cpp's object.

    Raises EndpointError for any other shape.
    """
    if isinstance(value, Pairs):
        value = value["data"] if isinstance(value.get("data"), list) else value.get("models")
    if not isinstance(value, list):
        raise _unreadable("a list of models", url)
    names = [_model_name(model) for model in value]
    return list(dict.fromkeys(name for name in names if name))


def context_of_props(props: JsonObject) -> int | None:
    """Return the context size in tokens from llama.cpp's `/props`; None if it is missing."""
    settings = props.get("default_generation_settings")
    return _size(settings.get("n_ctx")) if isinstance(settings, Pairs) else None


def context_of_models(value: Json, model: str) -> int | None:
    """Return the context size of a model (else of the only model) in a list of models; None if unknown."""
    listed = value.get("data") if isinstance(value, Pairs) else value
    found = [entry for entry in listed if isinstance(entry, Pairs)] if isinstance(listed, list) else []
    named = [entry for entry in found if _model_name(entry) == model] or (found if len(found) == 1 else [])
    for entry in named:
        meta = entry.get("meta")
        tables = (entry, meta) if isinstance(meta, Pairs) else (entry,)
        sizes = (_size(table.get(name)) for name in _CONTEXT_NAMES for table in tables)
        return next((size for size in sizes if size is not None), None)
    return None


_CONTEXT_NAMES = ("n_ctx", "max_model_len", "context_length", "context_window", "max_context_length")
"""Names of the context size at llama.cpp, vLLM and hosted services."""


def _size(value: Json | JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def tokenized(value: Json, url: str) -> list[tuple[int, bytes]]:
    """Return ids and bytes of tokens from `/tokenize`. Raises EndpointError for another shape."""
    tokens = value.get("tokens") if isinstance(value, Pairs) else None
    if not isinstance(tokens, list):
        raise _unreadable("a list of tokens", url)
    found: list[tuple[int, bytes]] = []
    for token in tokens:
        token_id, text = (token.get("id"), token.get("piece")) if isinstance(token, Pairs) else (token, "")
        if isinstance(token_id, int) and 0 <= token_id < 2**63:
            found.append((token_id, _token_bytes(text)))
    return found


def detokenized(value: Json, url: str) -> str:
    """Return the text from `/detokenize`. Raises EndpointError for another shape."""
    text = value.get("content") if isinstance(value, Pairs) else None
    if not isinstance(text, str):
        raise _unreadable("a text", url)
    return text


def _model_name(value: Json) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Pairs):
        return ""
    found = (value.get(name) for name in ("id", "model", "name"))
    return next((name for name in found if isinstance(name, str) and name), "")


def _token_bytes(value: Json) -> bytes:
    """Return the bytes of a token's text, or of the list of numbers that replaces it if it is not text."""
    if isinstance(value, list):
        return bytes(byte for byte in value if isinstance(byte, int) and 0 <= byte < 256)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""


def _unreadable(what: str, url: str) -> EndpointError:
    return EndpointError(
        f"The endpoint answered, but not with {what}",
        show_url(url),
        "It may not offer this service; completions may work all the same.",
    )


_AFTER_DONE = 1.0
"""Seconds to wait for the end of the body after [DONE]."""

_MOST_BYTES = 64 * 1024 * 1024

_settings_of = attrgetter(
    *("base_url", "timeouts", "proxy", "trust_environment"),
    *("ca_file", "client_certificate", "client_key", "verify"),
)
"""The settings that endpoints must share to use the same connections."""


class Client:
    """Sends requests to endpoints, over connections that are kept open."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment` provides API keys."""
        self._keys = Keys(environment)
        self._transports: dict[tuple[object, ...], Transport] = {}

    async def stream(
        self, endpoint: Endpoint, request: Request, *, wire: WireLog | None = None
    ) -> AsyncGenerator[Event]:
        """Send a request once and yield the events of the response; never raises an EndpointError.

        Closing the generator (`aclosing`) or cancelling its task closes the connection at once. The last
        event is `End`. `wire` logs the raw traffic.
        """
        named = request._replace(model=request.model or endpoint.model)
        body = named.body(endpoint.aliases, endpoint.drop)
        try:
            call = await self._call(endpoint, "POST", body, wire)
            yield RequestSent(body)
            async with call.attempt() as reply:
                yield ResponseStarted()
                async with aclosing(_answer(reply, call)) as chunks:
                    async for events in chunks:
                        for event in events:
                            yield event
        except EndpointError as error:
            is_key_refused = error.status == 401 and self._keys.refused(endpoint.key, call.key)
            yield Error(error, is_key_refused or can_retry(error))
            yield End()
        finally:
            if wire is not None:
                wire.is_over = True

    async def models(self, endpoint: Endpoint) -> list[str]:
        """Return the names of the models that an endpoint lists. Raises EndpointError."""
        urls = normalise(endpoint.base_url)
        return listed_models(await self._json(endpoint, "GET", urls.models), urls.models)

    async def context_size(self, endpoint: Endpoint, model: str) -> int | None:
        """Return the context size in tokens, for prompt and answer; None if it is not reported.

        llama.cpp reports it in `/props`, other servers in their list of models.
        """
        with suppress(EndpointError):
            if (size := context_of_props(await self.props(endpoint))) is not None:
                return size
        with suppress(EndpointError):
            models = await self._json(endpoint, "GET", normalise(endpoint.base_url).models)
            return context_of_models(models, model)
        return None

    async def tokenize(
        self, endpoint: Endpoint, text: str, *, add_special: bool = False
    ) -> list[tuple[int, bytes]]:
        """Return the ids and bytes of a text's tokens, by llama.cpp's `/tokenize`. Raises EndpointError.

        `add_special` adds a prompt's special tokens.
        """
        url = normalise(endpoint.base_url).beside("tokenize")
        body: JsonObject = {"content": text, "with_pieces": True}
        if add_special:
            body = {**body, "add_special": True}
        return tokenized(await self._json(endpoint, "POST", url, body), url)

    async def detokenize(self, endpoint: Endpoint, ids: list[int]) -> str:
        """Return the text of token ids, by llama.cpp's `/detokenize`. Raises EndpointError."""
        url = normalise(endpoint.base_url).beside("detokenize")
        return detokenized(await self._json(endpoint, "POST", url, {"tokens": ids}), url)

    async def props(self, endpoint: Endpoint) -> JsonObject:
        """Return llama.cpp's `/props` (context size, chat template). Raises EndpointError."""
        value = await self._json(endpoint, "GET", normalise(endpoint.base_url).beside("props"))
        return value if isinstance(value, Pairs) else {}

    async def aclose(self) -> None:
        """Close all connections, and kill key commands that are still running."""
        await self._keys.aclose()
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()

    async def _json(self, endpoint: Endpoint, method: str, url: str, body: JsonObject | None = None) -> Json:
        call = await self._call(endpoint, method, body, None, url)
        async with call.attempt() as reply:
            try:
                return parse(await read_all(reply, _MOST_BYTES))
            except ValueError:
                raise EndpointError(
                    "The response is not JSON",
                    show_url(url),
                    "Check the base URL: it may lead to a web page.",
                ) from None

    async def _call(
        self, endpoint: Endpoint, method: str, body: JsonObject | None, wire: WireLog | None, url: str = ""
    ) -> Call:
        urls = normalise(endpoint.base_url)
        key = await self._keys.find(endpoint.key)
        headers = {"Accept": "text/event-stream, application/json", **endpoint.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = b"" if body is None else encode(body)
        transport, url = self._transport(endpoint), url or urls.completions
        return Call(transport, method, url, urls, headers, content, key, endpoint.key_header, wire)

    def _transport(self, endpoint: Endpoint) -> Transport:
        settings = _settings_of(endpoint)
        if settings not in self._transports:
            # The HTTP library is slow to import, so it is imported with the first request.
            from workbench.client.transport import Transport

            self._transports[settings] = Transport(endpoint)
        return self._transports[settings]


async def _answer(reply: Reply, call: Call) -> AsyncGenerator[Iterable[Event]]:
    """Yield the events of a response body, grouped by chunk, until the body or the connection ends.

    The events of a chunk must be consumed before the next chunk is requested.
    """
    body = ResponseBody(call.key.redact)
    error = None
    empty = True
    try:
        async for chunk in reply.chunks:
            empty = False
            call.record(chunk)
            yield body.feed(chunk)
            if body.marked:
                break
    except EndpointError as broken:
        error = call.masked(broken)
    if body.marked:
        for chunk in await _read_after_done(reply):
            call.record(chunk)
            yield body.feed(chunk)
        error = None
    yield body.finish()
    if error is not None and empty:
        yield (Error(error),)
    yield (End(error),)


async def _read_after_done(reply: Reply) -> list[bytes]:
    """Read what follows [DONE] within a second, as only a body read to its end frees the connection."""
    chunks: list[bytes] = []
    with suppress(EndpointError, TimeoutError):
        async with asyncio.timeout(_AFTER_DONE):
            async for chunk in reply.chunks:
                chunks.append(chunk)
    return chunks
