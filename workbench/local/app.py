"""The local server's HTTP face: routes, keys, limits and errors, as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from workbench.domain.errors import EngineError
from workbench.domain.json_values import JsonObject, JsonValue
from workbench.local.completion import Completion, prompt_tokens
from workbench.local.draining import Draining
from workbench.local.engine import Engine
from workbench.local.openapi import openapi_document
from workbench.local.refusal import Refusal, bad_request
from workbench.local.slots import Slots
from workbench.local.validate import Order, check_text, parse_json, parse_order, read_switch

MOST_BODY = 8 * 1024 * 1024
"""The most bytes that a request's body may have."""
MOST_TEXT = 1024 * 1024
"""The most bytes of a text to tokenise."""

_STREAM_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")],
}


class LocalServer:
    """The routes over one engine, which may still be loading."""

    def __init__(self, model: str, slots: int, queue: int) -> None:
        """`model` is the only name that requests may give; `queue` is how many may wait."""
        self._model = model
        self._slot_count = slots
        self._queue = queue
        self._created = int(time.time())
        self._ready: tuple[Engine, Slots] | None = None

    def attach(self, engine: Engine) -> None:
        """Answer requests from now on; until then they are told to come back."""
        self._ready = (engine, Slots(engine, self._slot_count, self._queue))

    def stop(self) -> None:
        """End every choice at the engine's next event, and refuse new ones."""
        if self._ready is not None:
            self._ready[1].stop()

    async def aclose(self) -> None:
        """Stop, and wait until the engine has let go of everything."""
        if self._ready is not None:
            await self._ready[1].aclose()

    def app(self, key: str | None) -> Starlette:
        """The ASGI application; `key` is what every request but `/health` must bear."""
        routes = [
            Route("/v1/completions", _Completions(self), methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/health", self._health, methods=["GET"]),
            Route("/tokenize", self._tokenize, methods=["POST"]),
            Route("/detokenize", self._detokenize, methods=["POST"]),
            Route("/props", self._props, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Draining), *([Middleware(_Gate, key=key)] if key is not None else [])],
            exception_handlers={
                Refusal: _answer_refusal,
                EngineError: _answer_engine_error,
                HTTPException: _answer_http_error,
            },
        )

    def ready(self) -> tuple[Engine, Slots]:
        """The engine and its slots. Raises Refusal (503) while the model is loading."""
        if self._ready is None:
            raise Refusal(503, "the model is still loading", headers={"Retry-After": "1"})
        return self._ready

    async def completion(self, order: Order) -> Completion:
        """An order made ready to run. Raises Refusal where the model or the context cannot serve it."""
        engine, slots = self.ready()
        if order.model != self._model:
            message = f"model: there is no model {order.model!r} here, only {self._model!r}"
            raise Refusal(404, message, "model", "MODEL_NOT_FOUND")
        prompts = await prompt_tokens(order, engine)
        return Completion(order, prompts, engine, slots, self._model)

    async def _health(self, request: Request) -> Response:
        self.ready()
        return json_response({"status": "ok"})

    async def _openapi(self, request: Request) -> Response:
        facts = self.ready()[0].facts
        return json_response(openapi_document(self._model, facts.context, facts.vocabulary))

    async def _models(self, request: Request) -> Response:
        facts = self.ready()[0].facts
        meta: JsonObject = {
            "n_ctx": facts.context,
            "n_ctx_train": facts.trained_context,
            "n_vocab": facts.vocabulary,
            "n_params": facts.parameters,
            "size": facts.size,
        }
        model: JsonObject = {
            "id": self._model,
            "object": "model",
            "created": self._created,
            "owned_by": "local",
            "meta": meta,
        }
        return json_response({"object": "list", "data": [model]})

    async def _props(self, request: Request) -> Response:
        facts = self.ready()[0].facts
        return json_response(
            {
                "default_generation_settings": {"n_ctx": facts.context},
                "total_slots": self._slot_count,
                "model_alias": self._model,
                "chat_template": facts.chat_template,
                "bos_token": facts.bos_token,
                "eos_token": facts.eos_token,
            }
        )

    async def _tokenize(self, request: Request) -> Response:
        engine, slots = self.ready()
        body = await read_json(request)
        text = body.get("content")
        if not isinstance(text, str):
            raise bad_request("content", "content must be a text")
        check_text("content", text)
        if len(text.encode()) > MOST_TEXT:
            raise Refusal(413, f"content is longer than {MOST_TEXT} bytes", "content")
        _check_names(body, ("content", "add_special", "parse_special", "with_pieces"))
        special = read_switch(body, "add_special", False), read_switch(body, "parse_special", True)
        with slots.admitted():
            if not read_switch(body, "with_pieces", False):
                return json_response({"tokens": await asyncio.to_thread(engine.tokenize, text, *special)})
            pieces = await asyncio.to_thread(engine.pieces, text, *special)
        return json_response({"tokens": [{"id": token, "piece": piece} for token, piece in pieces]})

    async def _detokenize(self, request: Request) -> Response:
        engine, slots = self.ready()
        body = await read_json(request)
        _check_names(body, ("tokens",))
        ids = body.get("tokens")
        if not isinstance(ids, list):
            raise bad_request("tokens", "tokens must be a list of token ids")
        for token in ids:
            if isinstance(token, bool) or not isinstance(token, int):
                raise bad_request("tokens", "tokens must be a list of token ids")
            if not 0 <= token < engine.facts.vocabulary:
                raise bad_request("tokens", "tokens: the model has no such token")
        with slots.admitted():
            return json_response({"content": await asyncio.to_thread(engine.detokenize, ids)})


class _Completions:
    """`POST /v1/completions`, which ends as soon as its client hangs up."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        order = parse_order(await read_json(request))
        with self._server.ready()[1].admitted():
            answer = asyncio.create_task(self._answer(order, scope, receive, send))
            hang_up = asyncio.create_task(_wait_for_hang_up(receive))
            try:
                await asyncio.wait({answer, hang_up}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                hang_up.cancel()
                if not answer.done():
                    answer.cancel()
                await asyncio.gather(answer, hang_up, return_exceptions=True)
        if not answer.cancelled():
            answer.result()

    async def _answer(self, order: Order, scope: Scope, receive: Receive, send: Send) -> None:
        completion = await self._server.completion(order)
        if order.stream:
            await _stream(completion, send)
        else:
            await json_response(await completion.gathered())(scope, receive, send)


async def _stream(completion: Completion, send: Send) -> None:
    """Send a completion as server-sent events; an error before the first event is left to the caller."""
    started = False
    async with aclosing(completion.streamed()) as chunks:
        try:
            async for chunk in chunks:
                if not started:
                    await send(_STREAM_START)
                    started = True
                if chunk:
                    await _send_event(send, _dump(chunk))
                    # Sending need not wait, and a hang-up is noticed only where something waits.
                    await asyncio.sleep(0)
        except Refusal as refusal:
            if not started:
                raise
            await _send_event(send, _dump(refusal.body()))
        else:
            await _send_event(send, b"[DONE]")
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_event(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": b"data: " + data + b"\n\n", "more_body": True})


async def _wait_for_hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Gate:
    """Lets through who bears the key."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not secrets.compare_digest(given, self._expected):
                words = "the API key is wrong" if given else "an API key is needed"
                refusal = Refusal(401, words, headers={"WWW-Authenticate": "Bearer"})
                await _refusal_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def read_json(request: Request) -> JsonObject:
    """The request's JSON object.

    Raises Refusal where it is no JSON object, of another type, or too long.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "Content-Type must be application/json")
    content = bytearray()
    try:
        async for part in request.stream():
            content += part
            if len(content) > MOST_BODY:
                raise Refusal(
                    413, f"the body is longer than {MOST_BODY} bytes", headers={"Connection": "close"}
                )
    except ClientDisconnect:
        raise bad_request(None, "the body is cut off") from None
    return parse_json(bytes(content))


def json_response(
    content: Mapping[str, JsonValue], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer."""
    return Response(_dump(content), status, headers, "application/json")


def _refusal_response(refusal: Refusal) -> Response:
    return json_response(refusal.body(), refusal.status, refusal.headers)


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _refusal_response(error)


async def _answer_engine_error(request: Request, error: Exception) -> Response:
    return _refusal_response(Refusal(503, str(error)))


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refusal_response(
        Refusal(
            error.status_code,
            f"{request.method} {request.url.path}: {error.detail}",
            headers=error.headers or {},
        )
    )


def _check_names(body: JsonObject, known: Sequence[str]) -> None:
    for name in body:
        if name not in known:
            raise bad_request(name, f"{name}: no such field")


def _dump(content: Mapping[str, JsonValue]) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
