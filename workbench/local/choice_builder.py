"""Build the choices of a response: tokens that join exactly, text offsets, ranking and usage."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.domain.display import show_bytes
from workbench.domain.json_values import JsonValue
from workbench.local.engine import Chunk, EngineToken
from workbench.local.stops import StopMatcher


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """A token of the answer, or a group of tokens that only together form complete characters."""

    text: str
    """The text added to the answer."""
    logprob: float | None = None
    """Nats; for a group, the sum over its tokens."""
    top: tuple[tuple[str, float | None], ...] | None = ()
    """The most likely tokens at its position (for a group, at the first token's), and the token itself if it
    is not among them; None for the first token of a prompt."""
    encoding: str | None = None
    """The token's name if it may differ from its text: the byte-level encoding of bytes within a
    character."""

    @property
    def name(self) -> str:
        """The token's string in `logprobs.tokens`."""
        return self.text if self.encoding is None else self.encoding


class _HeldTokens(NamedTuple):
    """A token or group of tokens that is not yet part of the answer."""

    text: str
    """The part of its text that may be sent."""
    tokens: Sequence[EngineToken]


@dataclass(slots=True)
class ChoiceBuilder:
    """Converts the engine's events for a choice to tokens of the answer."""

    logprobs: int | None
    """The number of alternatives per token; None for no logprobs."""
    stops: StopMatcher
    name_of: Callable[[int], str]
    """Returns the name of a token without text, by id."""
    includes_stop: bool = True
    """Whether to include the stop sequence; if not, tokens that may belong to one are held back."""
    echo: bool = False
    """Whether the answer includes the prompt; tokens are then never grouped."""
    prompt_text: str | None = None
    """The prompt's text; None if it was given as token ids."""
    finish_reason: str | None = None
    """None until the choice ends."""
    generated: int = 0
    """The number of generated tokens."""
    tokens: list[AnswerToken] = field(default_factory=list)
    """All tokens so far, including an echoed prompt."""
    _prompt_length: int = 0
    _held: list[_HeldTokens] = field(default_factory=list)
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _group: list[EngineToken] = field(default_factory=list)
    """Tokens that end in an incomplete UTF-8 sequence."""
    _group_text: str = ""

    def take(self, chunk: Chunk) -> list[AnswerToken]:
        """Process an event and return the new tokens; none after the choice has ended."""
        if self.finish_reason is not None:
            return []
        self.finish_reason = chunk.finish_reason
        tokens: list[AnswerToken] = []
        if self.echo and chunk.prompt:
            tokens += self._echo(chunk.prompt)
            self._prompt_length = len(tokens)
        if chunk.token is not None:
            self.generated += 1
            self._group.append(chunk.token)
            self._group_text += self._decoder.decode(chunk.token.bytes)
        is_within_character = bool(self._decoder.getstate()[0])
        if self._group and (self.echo or self.finish_reason is not None or not is_within_character):
            self._hold(self._group_text, self._group)
            self._group, self._group_text = [], ""
        ready = len(self._held)
        partial = 0 if self.includes_stop or self.finish_reason is not None else self.stops.partial
        while partial > 0:
            ready -= 1
            partial -= len(self._held[ready].text)
        tokens += [self._token(*held) for held in self._held[:ready]]
        del self._held[:ready]
        self.tokens += tokens
        return tokens

    def _echo(self, prompt: Sequence[EngineToken]) -> list[AnswerToken]:
        parts = [token.bytes for token in prompt]
        if self.prompt_text is not None:
            parts = without_lead(parts, self.prompt_text.encode())
        tokens = []
        for index, (token, part) in enumerate(zip(prompt, parts, strict=True)):
            text, name = self._decoder.decode(part), _name(part)
            top = self._rows(name, token, token.logprob) if index else None
            tokens.append(AnswerToken(text, token.logprob, top, name))
        return tokens

    def _hold(self, text: str, tokens: Sequence[EngineToken]) -> None:
        """Hold a token; truncate the held text after a stop sequence, or before it if it is not included."""
        match = self.stops.feed(text)
        if match is None:
            self._held.append(_HeldTokens(text, tokens))
            return
        self.finish_reason = "stop"
        self._held.append(_HeldTokens(text[: match.end], tokens))
        unwanted = 0 if self.includes_stop else match.length
        while unwanted > 0:
            held = self._held.pop()
            if len(held.text) > unwanted:
                self._held.append(held._replace(text=held.text[:-unwanted]))
            unwanted -= len(held.text)

    @property
    def mean_logprob(self) -> float:
        """The mean logprob of the generated tokens, in nats; minus infinity if none has a logprob."""
        generated = self.tokens[self._prompt_length :]
        logprobs = [token.logprob for token in generated if token.logprob is not None]
        return sum(logprobs) / len(logprobs) if logprobs else float("-inf")

    def _token(self, text: str, group: Sequence[EngineToken]) -> AnswerToken:
        first = group[0]
        logprobs = [token.logprob for token in group if token.logprob is not None]
        logprob = sum(logprobs) if len(logprobs) == len(group) else None
        if self.logprobs is None:
            return AnswerToken(text, logprob)
        encoding = _escape(first.bytes) if self.echo and not _is_text(first.bytes) else None
        name = text if encoding is None else encoding
        return AnswerToken(text, logprob, self._rows(name, first, logprob, len(group) > 1), encoding)

    def _rows(
        self, name: str, token: EngineToken, logprob: float | None, is_group: bool = False
    ) -> tuple[tuple[str, float | None], ...]:
        rows: dict[str, float | None] = {}
        for candidate in token.candidates[: self.logprobs]:
            if is_group or candidate.id != token.id:
                key = token_key(candidate, self.name_of)
                rows[_escape(candidate.bytes) if key == name or key in rows else key] = candidate.logprob
            else:
                rows[name] = logprob
        rows.setdefault(name, logprob)
        return tuple(rows.items())


def token_key(token: EngineToken, name_of: Callable[[int], str]) -> str:
    """Return a token's text; its encoded bytes if they are not text, its name if it has none."""
    return _name(token.bytes) if token.bytes else name_of(token.id)


def without_lead(parts: Sequence[bytes], text: bytes) -> list[bytes]:
    """Return the bytes of a text's tokens, without the bytes that the tokenizer added before the text."""
    whole = b"".join(parts)
    lead = len(whole) - len(text) if whole.endswith(text) else 0
    shortened = []
    for part in parts:
        shortened.append(part[lead:])
        lead = max(0, lead - len(part))
    return shortened


def logprobs_json(tokens: Sequence[AnswerToken], offset: int) -> dict[str, JsonValue]:
    """Return the API's `logprobs` object; `offset` is the text offset of the first token, in characters."""
    offsets: list[int] = []
    for token in tokens:
        offsets.append(offset)
        offset += len(token.text)
    return {
        "tokens": [token.name for token in tokens],
        "token_logprobs": [token.logprob for token in tokens],
        "top_logprobs": [None if token.top is None else dict(token.top) for token in tokens],
        "text_offset": offsets,
    }


def rank(builders: Sequence[ChoiceBuilder], keep: int) -> list[ChoiceBuilder]:
    """Return the `keep` choices with the highest mean logprob, best first; equal ones keep their order."""
    return sorted(builders, key=lambda builder: -builder.mean_logprob)[:keep]


def usage_json(prompt_tokens: int, completion_tokens: int) -> dict[str, JsonValue]:
    """Return the API's `usage` object."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _name(data: bytes) -> str:
    return data.decode() if _is_text(data) else _escape(data)


def _escape(data: bytes) -> str:
    return f"bytes:{show_bytes(data)}"
