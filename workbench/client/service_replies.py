"""The answers of an endpoint's smaller services: its models, and llama.cpp's tokenizer."""

from __future__ import annotations

from workbench.client.exact_dialect import Json, Pairs
from workbench.client.urls import shown
from workbench.domain.display import show_bytes
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonObject, JsonValue


def listed_models(value: Json, url: str) -> list[str]:
    """The names in a list of models: OpenAI's object, a bare array, or llama.cpp's own.

    Raises EndpointError for anything else.
    """
    if isinstance(value, Pairs):
        value = value["data"] if isinstance(value.get("data"), list) else value.get("models")
    if not isinstance(value, list):
        raise _unreadable("a list of models", url)
    names = [_model_name(one) for one in value]
    return list(dict.fromkeys(name for name in names if name))


def context_of_props(props: JsonObject) -> int | None:
    """The tokens that prompt and answer may take together, as llama.cpp's `/props` tells; else None."""
    settings = props.get("default_generation_settings")
    return _size(settings.get("n_ctx")) if isinstance(settings, Pairs) else None


def context_of_models(value: Json, model: str) -> int | None:
    """The context size of a model in a list of models; of the only one where none is named; else None."""
    listed = value.get("data") if isinstance(value, Pairs) else value
    found = [one for one in listed if isinstance(one, Pairs)] if isinstance(listed, list) else []
    named = [one for one in found if _model_name(one) == model] or (found if len(found) == 1 else [])
    for one in named:
        meta = one.get("meta")
        tables = (one, meta) if isinstance(meta, Pairs) else (one,)
        sizes = (_size(table.get(name)) for name in _CONTEXT_NAMES for table in tables)
        return next((size for size in sizes if size is not None), None)
    return None


_CONTEXT_NAMES = ("n_ctx", "max_model_len", "context_length", "context_window", "max_context_length")
"""What llama.cpp, vLLM and the hosted services call it."""


def _size(value: Json | JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def tokenized(value: Json, url: str) -> list[tuple[int, str]]:
    """Ids and texts of tokens. Raises EndpointError for another shape."""
    tokens = value.get("tokens") if isinstance(value, Pairs) else None
    if not isinstance(tokens, list):
        raise _unreadable("a list of tokens", url)
    found: list[tuple[int, str]] = []
    for one in tokens:
        token_id, piece = (one.get("id"), one.get("piece")) if isinstance(one, Pairs) else (one, "")
        if isinstance(token_id, int) and 0 <= token_id < 2**63:
            found.append((token_id, _piece(piece)))
    return found


def detokenized(value: Json, url: str) -> str:
    """The text of tokens. Raises EndpointError for another shape."""
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


def _piece(value: Json) -> str:
    if isinstance(value, list):
        raw = bytes(one for one in value if isinstance(one, int) and 0 <= one < 256)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return f"bytes:{show_bytes(raw)}"
    return value if isinstance(value, str) else ""


def _unreadable(what: str, url: str) -> EndpointError:
    return EndpointError(
        f"The endpoint answered, but not with {what}",
        shown(url),
        "It may not offer this service; completions may work all the same.",
    )
