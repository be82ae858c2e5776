"""Parse one JSON event of an answer; the dialect is detected from the event itself.

Well-formed events in the two common shapes take a fast path; all others, for example with NaN, invalid UTF-8,
duplicate keys or a rare shape, take the exact path (`exact_dialect.py`). Both give the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from math import isfinite
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from workbench.client.events import PromptTokens
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.json_values import JsonValue
from workbench.domain.run import Usage


class ChoicePart(Struct, gc=False):
    """The part of an event that belongs to one choice."""

    choice: int
    """Index of the choice."""
    text: str
    finish_reason: str | None
    entries: Sequence[ReceivedToken] | None
    """The tokens reported, with the server's names; None if there are none."""


class Reading(Struct, gc=False):
    """The contents of one event."""

    parts: Sequence[ChoicePart] = ()
    response_id: str = ""
    model: str = ""
    created: int | None = None
    usage: Usage | None = None
    error: JsonValue = None
    """The error object or text of the event, if any."""
    is_answer: bool = True
    """Whether the event is part of a completion."""
    odd_numbers: bool = False
    """Whether a logprob was not a finite number."""
    prompts: Sequence[PromptTokens] = ()
    """Prompt tokens that are reported separately from the text of the choices."""
    sampled: bool = False
    """Whether the reported probabilities are post-sampling."""
    has_reasoning: bool = False
    """Whether the event has reasoning, separate from the text."""


_Int: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Top(Struct, gc=False):
    token: str
    logprob: float
    bytes: list[int] | None = None
    id: _Int | None = None


class _Token(Struct, gc=False):
    token: str
    logprob: float
    top_logprobs: list[_Top]
    bytes: list[int] | None = None
    id: _Int | None = None


class _Logprobs(Struct, gc=False):
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: Raw = Raw(b"null")
    content: list[_Token] | None = None
    token_ids: None = None


class _Choice(Struct, gc=False):
    text: str
    index: _Int = 0
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: None = None
    prompt_logprobs: None = None
    delta: None = None
    message: None = None
    reasoning: Literal[""] | None = None
    reasoning_content: Literal[""] | None = None
    reasoning_details: None = None
    reasoning_text: Literal[""] | None = None
    thinking: Literal[""] | None = None


class _Usage(Struct, gc=False):
    prompt_tokens: _Int = 0
    completion_tokens: _Int = 0
    total_tokens: _Int = 0


class _Event(Struct, gc=False):
    choices: list[_Choice]
    id: str = ""
    model: str = ""
    model_name: str = ""
    created: _Int | None = None
    usage: _Usage | None = None
    error: None = None
    token: None = None
    prompt: None = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_rows = msgspec.json.Decoder(list[dict[str, float] | None] | None).decode
_new = tuple.__new__


def read_fast(payload: bytes) -> Reading | None:
    """Parse a well-formed event in a common shape; None if it needs the exact path."""
    try:
        event = _decode(payload)
        if not event.choices:
            return None
        parts = [
            ChoicePart(choice.index, choice.text, _reason(choice.finish_reason), _entries(choice.logprobs))
            for choice in event.choices
        ]
    except (ValueError, RecursionError):
        return None
    usage = event.usage
    return Reading(
        parts,
        event.id,
        event.model or event.model_name,
        event.created,
        Usage(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) if usage else None,
    )


def _reason(word: str | None) -> str | None:
    return word if word and word != "null" else None


def _entries(received: _Logprobs | None) -> list[ReceivedToken] | None:
    if received is None:
        return None
    if received.content is not None:
        return [_chat_entry(token) for token in received.content]
    return _legacy_entries(received)


def _legacy_entries(received: _Logprobs) -> list[ReceivedToken]:
    tokens, logprobs = received.tokens, received.token_logprobs
    source = bytes(received.top_logprobs)
    rows = _decode_rows(source)
    if tokens is None or logprobs is None or len(tokens) != len(logprobs):
        raise ValueError("tokens without logprobs")
    if rows is not None and len(rows) != len(tokens):
        raise ValueError("tokens without alternatives")
    entries = []
    colons = source.count(b":")
    for token, logprob, row in zip(tokens, logprobs, rows or repeat(None)):  # noqa: B905 (checked above)
        alternatives = []
        if row:
            colons -= len(row)
            for text, number in row.items():
                alternatives.append(_new(Alternative, (text, number, None, None)))
        entries.append(_new(ReceivedToken, (_text(token), logprob, alternatives, None, None)))
    # Each key has one colon. More colons than kept keys mean a duplicate key, unless names contain colons.
    if colons and (rb"\u003" in source or colons != _colons_within(rows or ())):
        raise ValueError("a key that came twice, or one whose colon is escaped")
    return entries


def _colons_within(rows: Iterable[Mapping[str, float] | None]) -> int:
    return sum(_text(name).count(":") for row in rows if row for name in row)


def _chat_entry(token: _Token) -> ReceivedToken:
    text, raw = _decode_name(token.token, token.bytes)
    alternatives = []
    for listed in token.top_logprobs:
        its_text, its_raw = _decode_name(listed.token, listed.bytes)
        alternatives.append(_new(Alternative, (its_text, listed.logprob, listed.id, its_raw)))
    return _new(ReceivedToken, (text, token.logprob, alternatives, token.id, raw))


def _decode_name(name: str, received: list[int] | None) -> tuple[str, bytes | None]:
    """Return a token's text, and its bytes if they are not UTF-8; its list of bytes overrides its name."""
    if not received:
        return _text(name), None
    raw = bytes(received)
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return "", raw


def _text(name: str) -> str:
    """Return a token's name as its text. Raises ValueError if the name encodes bytes or an id."""
    if name.startswith(("bytes:", "token_id:")):
        raise ValueError("a name that is not text")
    return name


def finite(value: float | None) -> float | None:
    """Return the number if it is finite, else None."""
    return value if value is not None and isfinite(value) else None
