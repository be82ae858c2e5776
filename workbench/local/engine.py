"""The embedded engine: llama.cpp inside this process, one blocking call for each choice.

Choices go through the engine's in-process handlers, which a callback ends between any two events; what
those lack (tokenising, the model's facts) goes through the engine's own HTTP port, bound to loopback
behind a random key.
"""

from __future__ import annotations

import http.client
import importlib
import json
import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from workbench.domain.errors import EngineError
from workbench.domain.json_values import JsonValue

_PROMPT_BATCH = 32
"""Tokens of a prompt evaluated at a time: a hang-up is noticed between two batches."""
_HTTP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Facts:
    """What a client needs to know of the loaded model."""

    context: int
    """The most tokens that prompt and answer may have together."""
    trained_context: int
    vocabulary: int
    """How many token ids there are."""
    parameters: int
    size: int
    """Bytes of the weights."""
    chat_template: str
    bos_token: str
    eos_token: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that the model might take, with its raw logprob."""

    id: int
    bytes: bytes
    logprob: float | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of the engine while it generates a choice."""

    text: str = ""
    made: int = 0
    """How many tokens have been generated so far, this one included."""
    taken: Candidate | None = None
    """The token that was taken, where logprobs were asked for; of several, the last."""
    candidates: tuple[Candidate, ...] = ()
    finish_reason: str | None = None
    error: str = ""
    """Why the engine refused or broke off; empty where it did not."""
    is_refusal: bool = False
    """Whether the error lies in the request."""


class Engine(Protocol):
    """What the server needs of an engine. All methods block; all may be called from any thread."""

    @property
    def facts(self) -> Facts:
        """The loaded model's facts."""
        ...

    def generate(self, body: Mapping[str, JsonValue], on_chunk: Callable[[Chunk], bool]) -> None:
        """Generate one choice; ends early once `on_chunk` answers true."""
        ...

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """The text's token ids."""
        ...

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of known token ids, special ones by name."""
        ...

    def pieces(self, text: str, add_special: bool, parse_special: bool) -> list[tuple[int, JsonValue]]:
        """The text's token ids, each with its text, or its bytes as a list where they are no text."""
        ...

    def close(self) -> None:
        """Unload the model."""
        ...


class LlamaEngine:
    """llama.cpp through xllamacpp."""

    def __init__(self, path: Path, slots: int, context: int) -> None:
        """Load a model; takes a second or two.

        Raises EngineError where the engine is not installed or the file cannot be loaded.
        """
        library = _import_library()
        self._key = secrets.token_urlsafe(32)
        params = library.CommonParams()
        params.model.path = str(path)
        params.n_parallel = slots
        params.n_ctx = slots * context
        params.n_batch = _PROMPT_BATCH
        params.kv_unified = False
        params.cache_ram_mib = 0
        params.cache_idle_slots = False
        params.fit_params = False
        params.ctx_shift = False
        params.verbosity = 0
        params.ui = False
        params.endpoint_slots = False
        params.port = 0
        params.n_threads_http = 4
        params.api_keys = [self._key]
        try:
            self._server: Any = library.Server(params)
        except RuntimeError as error:
            raise EngineError(
                f"The engine cannot load {path.name}", str(error), "Name another GGUF file with --model."
            ) from None
        address = urlsplit(self._server.listening_address)
        self._address = (address.hostname or "127.0.0.1", address.port or 0)
        self._facts = self._read_facts(context)

    @property
    def facts(self) -> Facts:
        """The loaded model's facts."""
        return self._facts

    def generate(self, body: Mapping[str, JsonValue], on_chunk: Callable[[Chunk], bool]) -> None:
        """Generate one choice; ends early once `on_chunk` answers true."""
        # Bytes in, bytes out: reading them ourselves is many times cheaper than the binding's own objects.
        self._server.handle_completions(
            msgspec.json.encode(body), lambda event: on_chunk(read_chunk(msgspec.json.decode(event)))
        )

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """The text's token ids."""
        answer = self._call(
            "/tokenize", {"content": text, "add_special": add_special, "parse_special": parse_special}
        )
        return list(answer["tokens"])

    def pieces(self, text: str, add_special: bool, parse_special: bool) -> list[tuple[int, JsonValue]]:
        """The text's token ids, each with its text, or its bytes as a list where they are no text."""
        body: dict[str, JsonValue] = {
            "content": text,
            "add_special": add_special,
            "parse_special": parse_special,
            "with_pieces": True,
        }
        return [(one["id"], one["piece"]) for one in self._call("/tokenize", body)["tokens"]]

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of known token ids, special ones by name."""
        return str(self._call("/detokenize", {"tokens": list(ids)})["content"])

    def close(self) -> None:
        """Unload the model; waits for its thread."""
        self._server = None

    def _read_facts(self, context: int) -> Facts:
        props = self._call("/props")
        meta = self._call("/v1/models")["data"][0]["meta"]
        return Facts(
            min(context, int(props["default_generation_settings"]["n_ctx"])),
            int(meta["n_ctx_train"]),
            int(meta["n_vocab"]),
            int(meta["n_params"]),
            int(meta["size"]),
            str(props.get("chat_template", "")),
            str(props.get("bos_token", "")),
            str(props.get("eos_token", "")),
        )

    def _call(self, path: str, body: Mapping[str, JsonValue] | None = None) -> Any:
        connection = http.client.HTTPConnection(*self._address, timeout=_HTTP_SECONDS)
        try:
            connection.request(
                "GET" if body is None else "POST",
                path,
                None if body is None else json.dumps(body),
                {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise EngineError("The engine does not answer", str(error)) from None
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise EngineError(f"The engine refused {path}", content[:200].decode("utf-8", "replace"))
        return json.loads(content)


def read_chunk(event: Mapping[str, Any]) -> Chunk:
    """What an event of the engine says, in our words."""
    if "error" in event:
        error = event["error"]
        is_refusal = http.HTTPStatus.BAD_REQUEST <= int(error.get("code", 500)) < 500
        return Chunk(error=str(error.get("message", "unknown error")), is_refusal=is_refusal)
    choice = event["choices"][0]
    made = int(event.get("timings", {}).get("predicted_n", 0))
    content = (choice.get("logprobs") or {}).get("content") or ()
    if not content:
        return Chunk(choice["text"], made, finish_reason=choice["finish_reason"])
    entry = content[-1]
    candidates = tuple(map(_read_candidate, entry["top_logprobs"]))
    return Chunk(choice["text"], made, _read_candidate(entry), candidates, choice["finish_reason"])


def _read_candidate(entry: Mapping[str, Any]) -> Candidate:
    logprob = entry["logprob"]
    known = isinstance(logprob, (int, float)) and math.isfinite(logprob)
    return Candidate(int(entry["id"]), bytes(entry["bytes"]), min(0.0, float(logprob)) if known else None)


def _import_library() -> ModuleType:
    """The engine's module; imported late, as it takes a second and may not be there."""
    # Read once, when the engine's library is loaded. Its threads wait for each other hundreds of times a
    # token: asleep at once they make 0.6 times the tokens/s that they make spinning for as long as they would
    # by default, which beside two busy programs leaves 0.17 of it. Spinning for a moment is 0.9 and 0.27.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError:
        raise EngineError(
            "The embedded engine is not installed", hint="Run `pip install 'completion-workbench[local]'`."
        ) from None
    except ImportError as error:
        if "libgomp" in str(error):
            raise EngineError(
                "The embedded engine needs the system library libgomp",
                hint="Run `apt-get install libgomp1`, or your system's like of it.",
            ) from None
        raise EngineError("The embedded engine cannot be loaded", str(error)) from None
