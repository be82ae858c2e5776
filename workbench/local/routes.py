"""The local server's routes: completions, the tokenizer, and information about the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from types import MappingProxyType

from workbench.domain.json_values import JsonObject
from workbench.local.access import PREFLIGHT_HEADERS, Access
from workbench.local.completion import Completion, in_thread, prompt_tokens
from workbench.local.engine import Engine
from workbench.local.http_server import Handler, HttpRequest, ResponseWriter, dump
from workbench.local.openapi import openapi_document
from workbench.local.refusal import Refusal, bad_request
from workbench.local.request_validation import (
    MOST_IDS,
    check_names,
    check_text,
    parse_json,
    parse_order,
    read_switch,
    unzip,
)

MOST_TEXT = 1024 * 1024
"""Maximum bytes of a text to tokenise."""
_RETRY_SECONDS = 2


class CompletionsApp:
    """The routes of a server with one engine, which may still be loading."""

    def __init__(self, model: str, slots: int, queue: int, access: Access) -> None:
        """`model` is the only valid model name; `queue` is the maximum number of waiting requests."""
        self._model = model
        self._slot_count = slots
        self._most = slots + queue
        self._admission = asyncio.Semaphore(self._most)
        self._access = access
        self._created = int(time.time())
        self._engine: Engine | None = None
        self._routes: Mapping[str, tuple[str, Handler]] = MappingProxyType(
            {
                "/completions": ("POST", self._completions),
                "/models": ("GET", self._models),
                "/health": ("GET", self._health),
                "/tokenize": ("POST", self._tokenize),
                "/detokenize": ("POST", self._detokenize),
                "/tokenizer_info": ("GET", self._tokenizer_info),
                "/props": ("GET", self._props),
                "/openapi.json": ("GET", self._openapi),
            }
        )

    def attach(self, engine: Engine) -> None:
        """Set the engine; until then, requests are refused with 503 and Retry-After."""
        self._engine = engine

    def stop(self) -> None:
        """End every choice as soon as the engine can, and refuse new ones."""
        if self._engine is not None:
            self._engine.stop()

    def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the headers to add to every response to the request."""
        return self._access.headers(request)

    def route(self, request: HttpRequest) -> Handler:
        """Return the handler of a request, before its body is read. Raises Refusal."""
        self._access.check_host(request)
        if self._access.is_preflight(request):
            return _answer_preflight
        # Base URLs are pasted with and without /v1, and with trailing or doubled slashes.
        parts = [part for part in request.path.split("/") if part]
        path = "/" + "/".join(parts[1:] if parts[:1] == ["v1"] else parts)
        if path != "/health":
            self._access.check_key(request)
        is_model = path.startswith("/models/")
        method, handler = ("GET", self._single_model) if is_model else self._routes.get(path, ("", None))
        if handler is None:
            raise Refusal(404, f"{request.method} {request.path}: unknown path")
        if request.method != method and (request.method, method) != ("HEAD", "GET"):
            message = f"{request.method} {request.path}: method not allowed, use {method}"
            raise Refusal(405, message, headers={"Allow": method})
        if method == "POST":
            _check_body_type(request)
        self.engine()
        return handler

    def engine(self) -> Engine:
        """Return the engine. Raises Refusal (503) while the model is loading."""
        if self._engine is None:
            raise Refusal(503, "the model is still loading", headers={"Retry-After": "1"})
        return self._engine

    @asynccontextmanager
    async def _admitted(self) -> AsyncGenerator[None]:
        """Count a request while it runs or waits. Raises Refusal (429) if too many do."""
        if self._admission.locked():
            message = f"{self._most} requests are running or waiting; try again in {_RETRY_SECONDS} s"
            raise Refusal(429, message, headers={"Retry-After": str(_RETRY_SECONDS)})
        async with self._admission:
            yield

    async def _completions(self, request: HttpRequest, response: ResponseWriter) -> None:
        engine = self.engine()
        async with self._admitted():
            order = await in_thread(lambda: parse_order(_read_json(request)))
            self._check_model(order.model)
            prompts = await prompt_tokens(order, engine)
            completion = Completion(order, prompts, engine, self._model)
            if not order.stream:
                await response.send(await completion.gathered())
                return
            async with aclosing(completion.streamed()) as batches:
                async for chunks in batches:
                    await response.begin_events()
                    if chunks:
                        await response.send_events(*map(dump, chunks))
            await response.send_events(b"[DONE]")
            await response.end_events()

    async def _health(self, request: HttpRequest, response: ResponseWriter) -> None:
        await response.send({"status": "ok"})

    async def _openapi(self, request: HttpRequest, response: ResponseWriter) -> None:
        facts = self.engine().facts
        await response.send(openapi_document(self._model, facts.context, facts.vocabulary))

    async def _models(self, request: HttpRequest, response: ResponseWriter) -> None:
        await response.send({"object": "list", "data": [self._model_object()]})

    async def _single_model(self, request: HttpRequest, response: ResponseWriter) -> None:
        self._check_model(request.path.partition("models/")[2].strip("/"))
        await response.send(self._model_object())

    def _model_object(self) -> JsonObject:
        facts = self.engine().facts
        return {
            "id": self._model,
            "object": "model",
            "created": self._created,
            "owned_by": "local",
            "meta": {
                "n_ctx": facts.context,
                "n_ctx_train": facts.trained_context,
                "n_vocab": facts.vocabulary,
                "n_params": facts.parameters,
                "size": facts.size,
            },
        }

    def _check_model(self, name: str) -> None:
        if name != self._model:
            message = f"model: unknown model {name[:80]!r}, this server has {self._model!r}"
            raise Refusal(404, message, "model", "MODEL_NOT_FOUND")

    async def _props(self, request: HttpRequest, response: ResponseWriter) -> None:
        facts = self.engine().facts
        await response.send(
            {
                "default_generation_settings": {"n_ctx": facts.context},
                "total_slots": self._slot_count,
                "model_alias": self._model,
                "chat_template": facts.chat_template,
                "bos_token": facts.bos_token,
                "eos_token": facts.eos_token,
            }
        )

    async def _tokenizer_info(self, request: HttpRequest, response: ResponseWriter) -> None:
        facts = self.engine().facts
        await response.send(
            {
                "bos_token": facts.bos_token or None,
                "eos_token": facts.eos_token or None,
                "chat_template": facts.chat_template,
            }
        )

    async def _tokenize(self, request: HttpRequest, response: ResponseWriter) -> None:
        """Tokenise a text: `content` selects llama.cpp's format, `prompt` vLLM's."""
        engine = self.engine()
        async with self._admitted():
            body = await in_thread(_read_json, request)
            if body.get("prompt") is not None:
                check_names(body, ("model", "prompt", "add_special_tokens"))
                text = _read_text(body, "prompt")
                ids = await in_thread(engine.tokenize, text, read_switch(body, "add_special_tokens", True))
                limit = engine.facts.context
                await response.send({"tokens": ids, "count": len(ids), "max_model_len": limit})
                return
            check_names(body, ("content", "prompt", "add_special", "parse_special", "with_pieces"))
            text = _read_text(body, "content")
            special = read_switch(body, "add_special", False), read_switch(body, "parse_special", True)
            with_pieces = read_switch(body, "with_pieces", False)
            ids = await in_thread(engine.tokenize, text, *special)
            tokens = await in_thread(_tokens_with_pieces, engine, ids) if with_pieces else ids
            await response.send({"tokens": tokens})

    async def _detokenize(self, request: HttpRequest, response: ResponseWriter) -> None:
        """Detokenise: the text is both `content` (llama.cpp's format) and `prompt` (vLLM's)."""
        engine = self.engine()
        async with self._admitted():
            body = await in_thread(_read_json, request)
            check_names(body, ("model", "tokens"))
            ids = body.get("tokens")
            if not isinstance(ids, list) or len(ids) > MOST_IDS:
                raise bad_request("tokens", f"tokens must be a list of at most {MOST_IDS} token ids")
            for token in ids:
                if isinstance(token, bool) or not isinstance(token, int):
                    raise bad_request("tokens", "tokens must be a list of token ids")
                if not 0 <= token < engine.facts.vocabulary:
                    raise bad_request("tokens", f"tokens: the model has no token {token}")
            text = await in_thread(_detokenize, engine, ids)
            await response.send({"content": text, "prompt": text})


async def _answer_preflight(request: HttpRequest, response: ResponseWriter) -> None:
    await response.send_nothing(PREFLIGHT_HEADERS)


def _tokens_with_pieces(engine: Engine, ids: Sequence[int]) -> list[JsonObject]:
    """Return token ids with their text, or with a list of their bytes if these are not text."""
    tokens: list[JsonObject] = []
    for token in ids:
        data = engine.token_bytes(token, special=True)
        try:
            tokens.append({"id": token, "piece": data.decode()})
        except UnicodeDecodeError:
            tokens.append({"id": token, "piece": list(data)})
    return tokens


def _detokenize(engine: Engine, ids: Sequence[int]) -> str:
    return b"".join(engine.token_bytes(token, special=True) for token in ids).decode(errors="replace")


def _check_body_type(request: HttpRequest) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "Content-Type must be application/json")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        message = f"Content-Encoding {encoding} is not supported, only gzip is"
        raise Refusal(415, message, headers={"Accept-Encoding": "gzip"})


def _read_json(request: HttpRequest) -> JsonObject:
    """Parse the request's JSON object; slow if it is long. Raises Refusal."""
    is_plain = request.headers.get("content-encoding", "identity").lower() == "identity"
    return parse_json(request.content if is_plain else unzip(request.content))


def _read_text(body: JsonObject, name: str) -> str:
    text = body.get(name)
    if not isinstance(text, str):
        raise bad_request(name, f"{name} must be a string")
    check_text(name, text)
    if len(text.encode()) > MOST_TEXT:
        raise Refusal(413, f"{name} is longer than {MOST_TEXT} bytes", name)
    return text
