"""Parse events of every known shape exactly; slower than `dialect.py`."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from math import log
from typing import TypeAlias, cast

from workbench.client.byte_encoding import Name, of_bytes, read_name
from workbench.client.dialect import ChoicePart, Reading, finite
from workbench.client.events import PromptTokens
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.json_values import JsonValue
from workbench.domain.run import Usage


class Pairs(dict[str, "Json"]):
    """A JSON object that also keeps its pairs, including duplicate keys."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


Json: TypeAlias = "Pairs | list[Json] | str | int | float | bool | None"

_REASONING = ("reasoning", "reasoning_content", "reasoning_details", "reasoning_text", "thinking")
_LONGEST_NUMBER = 400
_LONGEST_ID = 19


def _integer(digits: str) -> int | float:
    # Python refuses to parse very long integers; no valid field has one.
    return int(digits) if len(digits) < _LONGEST_NUMBER else float(digits)


def parse(payload: bytes) -> Json:
    """Parse JSON leniently: invalid UTF-8 is replaced, NaN and raw control characters are accepted.

    Raises ValueError if it is not JSON.
    """
    text = payload.decode("utf-8", "replace").removeprefix("\ufeff")
    # Garbage collection would triple the time for a body of many small values, and JSON has no cycles.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return cast(Json, json.loads(text, strict=False, object_pairs_hook=Pairs, parse_int=_integer))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    finally:
        if was_enabled:
            gc.enable()


def read_exact(payload: bytes) -> Reading:
    """Parse an event of any shape. Raises ValueError if it is not JSON."""
    return read_value(parse(payload))


def read_value(value: Json) -> Reading:
    """Read the contents of a parsed event."""
    if not isinstance(value, Pairs):
        return Reading(is_answer=value is None)
    reading = Reading(
        response_id=_text(value.get("id")),
        model=_text(value.get("model")) or _text(value.get("model_name")),
        created=_whole_number(value.get("created")),
        usage=_usage(value.get("usage")),
        error=_error(value),
    )
    choices = value.get("choices")
    reading.is_answer = "choices" in value or reading.usage is not None or "prompt_progress" in value
    if isinstance(choices, list):
        token = value.get("token")
        received = [choice for choice in choices if isinstance(choice, Pairs)]
        reading.parts = [_part(choice, token, reading) for choice in received]
        reading.prompts = (
            *_prompts_beside(value.get("prompt"), reading),
            *(tokens for choice in received for tokens in _prompt_within(choice, reading)),
        )
    return reading


def _part(choice: Pairs, token: Json, reading: Reading) -> ChoicePart:
    index = _whole_number(choice.get("index"))
    tables = (choice, choice.get("delta"), choice.get("message"))
    if any(table.get(name) for table in tables if isinstance(table, Pairs) for name in _REASONING):
        reading.has_reasoning = True
    return ChoicePart(
        max(index or 0, 0),
        _choice_text(choice),
        _reason(choice.get("finish_reason")),
        _entries(choice, token, reading),
    )


def _prompts_beside(received: Json, reading: Reading) -> Iterator[PromptTokens]:
    """Read Together's echo: a list with the text and logprobs of each prompt, beside the choices."""
    for number, prompt in enumerate(_list(received)):
        logprobs = prompt.get("logprobs") if isinstance(prompt, Pairs) else None
        if isinstance(logprobs, Pairs) and isinstance(logprobs.get("tokens"), list):
            tokens = _legacy(logprobs, _list(logprobs.get("token_ids")), reading)
            yield PromptTokens(tokens, prompt=number)


def _prompt_within(choice: Pairs, reading: Reading) -> Iterator[PromptTokens]:
    """Read vLLM's `prompt_logprobs`: per token a map by id, its own id first; null for the first token."""
    rows = _list(choice.get("prompt_logprobs"))
    ids = _list(choice.get("prompt_token_ids"))
    if rows:
        tokens = [_prompt_token(row, reading) for row in rows]
        if len(ids) == len(tokens):
            tokens = [token._replace(id=_whole_number(id)) for token, id in zip(tokens, ids, strict=True)]
        yield PromptTokens(tokens, max(_whole_number(choice.get("index")) or 0, 0))


def _prompt_token(row: Json, reading: Reading) -> ReceivedToken:
    if not isinstance(row, Pairs):
        return ReceivedToken("")
    alternatives = [
        _by_id(key, received, reading) for key, received in row.pairs if isinstance(received, Pairs)
    ]
    if not alternatives:
        return ReceivedToken("")
    own = alternatives[0]
    return ReceivedToken(own.text, own.logprob, alternatives, own.id, own.raw)


def _by_id(key: str, received: Pairs, reading: Reading) -> Alternative:
    name = read_name(_text(received.get("decoded_token")))
    token_id = int(key) if key.isascii() and key.isdigit() and len(key) < _LONGEST_ID else name.id
    return Alternative(name.text, _number(received.get("logprob"), reading), token_id, name.raw)


def _choice_text(choice: Pairs) -> str:
    if isinstance(text := choice.get("text"), str):
        return text
    for name in ("delta", "message"):
        inner = choice.get(name)
        if isinstance(inner, Pairs) and isinstance(text := inner.get("content"), str):
            return text
    return ""


def _reason(value: Json) -> str | None:
    if value is None or value in ("", "null"):
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _error(value: Pairs) -> JsonValue:
    if error := value.get("error"):
        return error
    if "choices" in value:
        return None
    flat = value.get("object") == "error" or ("message" in value and ("code" in value or "reason" in value))
    return value if flat or value.get("detail") or value.get("error_msg") else None


def _usage(value: Json) -> Usage | None:
    if not isinstance(value, Pairs):
        return None
    counts = (_whole_number(value.get(f"{what}_tokens")) or 0 for what in ("prompt", "completion", "total"))
    return Usage(*counts)


def _entries(choice: Pairs, token: Json, reading: Reading) -> list[ReceivedToken] | None:
    received = choice.get("logprobs")
    if isinstance(received, (int, float)) and not isinstance(received, bool):
        # Together's streams have a single number, and the token beside the choices.
        if not isinstance(token, Pairs):
            return None
        text, _, raw = read_name(_text(token.get("text")))
        return [ReceivedToken(text, _number(received, reading), (), _whole_number(token.get("id")), raw)]
    if not isinstance(received, Pairs):
        return None
    content = received.get("content")
    if isinstance(content, list):
        return [_chat_entry(entry, reading) for entry in content if isinstance(entry, Pairs)]
    if isinstance(received.get("tokens"), list):
        ids = received.get("token_ids") or choice.get("token_ids")
        return _legacy(received, _list(ids), reading)
    return None


def _legacy(received: Pairs, ids: list[Json], reading: Reading) -> list[ReceivedToken]:
    tokens = cast("list[Json]", received["tokens"])
    logprobs, tops = _list(received.get("token_logprobs")), _list(received.get("top_logprobs"))
    entries = []
    for index, token in enumerate(tokens):
        text, token_id, raw = read_name(token if isinstance(token, str) else "")
        if token_id is None and len(ids) == len(tokens):
            token_id = _whole_number(ids[index])
        logprob = _number(logprobs[index], reading) if index < len(logprobs) else None
        alternatives = _alternatives(tops[index], reading) if index < len(tops) else []
        entries.append(ReceivedToken(text, logprob, alternatives, token_id, raw))
    return entries


def _alternatives(received: Json, reading: Reading) -> list[Alternative]:
    if isinstance(received, Pairs):
        return [
            Alternative(name.text, _number(number, reading), name.id, name.raw)
            for key, number in received.pairs
            for name in [read_name(key)]
        ]
    if isinstance(received, list):
        return [_alternative(entry, reading) for entry in received if isinstance(entry, Pairs)]
    return []


def _chat_entry(token: Pairs, reading: Reading) -> ReceivedToken:
    chosen = _alternative(token, reading)
    tops = token.get("top_logprobs")
    if tops is None:
        tops = token.get("top_probs")
    return ReceivedToken(chosen.text, chosen.logprob, _alternatives(tops, reading), chosen.id, chosen.raw)


def _alternative(token: Pairs, reading: Reading) -> Alternative:
    received = token.get("bytes")
    name = read_name(_text(token.get("token")))
    if isinstance(received, list) and (raw := _bytes(received)):
        name = Name(*of_bytes(raw))
    token_id = _whole_number(token.get("id"))
    if "logprob" not in token and isinstance(probability := token.get("prob"), (int, float)):
        reading.sampled = True
        logprob = log(probability) if 0 < probability <= 1 else None
    else:
        logprob = _number(token.get("logprob"), reading)
    return Alternative(name.text, logprob, name.id if token_id is None else token_id, name.raw)


def _bytes(values: Sequence[Json]) -> bytes | None:
    numbers = [value for value in values if isinstance(value, int) and 0 <= value < 256]
    return bytes(numbers) if len(numbers) == len(values) else None


def _number(value: Json, reading: Reading) -> float | None:
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = finite(float(value))
    except OverflowError:
        number = None
    if number is None:
        reading.odd_numbers = True
    return number


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _whole_number(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if -(2**63) <= number < 2**63 else None
