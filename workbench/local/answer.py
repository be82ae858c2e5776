"""The answer's choices in the contract's shape: tokens that join exactly, true offsets, ranking, usage."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.domain.json_values import JsonValue
from workbench.local.engine import Candidate, Chunk, EngineToken
from workbench.local.stops import StopMatcher


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """A token of the answer, or a group of tokens that make up whole characters only together."""

    text: str
    """What it adds to the text."""
    logprob: float | None = None
    """Nats; of a group the logprob of all its tokens together."""
    top: tuple[tuple[str, float | None], ...] | None = ()
    """The likeliest tokens in its place, or in that of a group's first token, and the piece itself if it is
    not among them; None for the first token of a prompt."""
    spelling: str | None = None
    """What stands for it among the tokens where that is not its text, but bytes within a character."""

    @property
    def name(self) -> str:
        """What stands for it among the tokens."""
        return self.text if self.spelling is None else self.spelling


class _HeldTokens(NamedTuple):
    """A token, or a group of them, that is not yet part of the answer."""

    text: str
    """What of its text may be sent."""
    tokens: Sequence[EngineToken]


@dataclass(slots=True)
class ChoiceBuilder:
    """Turns the engine's events for one choice into pieces, until it ends."""

    logprobs: int | None
    """How many alternatives each piece shall have; None asks for no logprobs."""
    stops: StopMatcher
    name_of: Callable[[int], str]
    """The name of a token that has no text of its own."""
    includes_stop: bool = True
    """Whether the text ends with the stop text that ended it; else tokens that may belong to one are held."""
    echo: bool = False
    """Whether the prompt is part of the text; then every token is a piece of its own."""
    prompt_text: str | None = None
    """The prompt as it was given; None where token ids were."""
    finish_reason: str | None = None
    """Why the choice ended; None while it has not."""
    made: int = 0
    """How many tokens were generated."""
    pieces: list[AnswerToken] = field(default_factory=list)
    """Everything so far, the prompt included where it is part of the text."""
    _prompt_pieces: int = 0
    _held: list[_HeldTokens] = field(default_factory=list)
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _group: list[EngineToken] = field(default_factory=list)
    """Tokens that end within a character."""
    _group_text: str = ""

    def take(self, chunk: Chunk) -> list[AnswerToken]:
        """The pieces that an event adds; after a stop text there are none."""
        if self.finish_reason is not None:
            return []
        self.finish_reason = chunk.finish_reason
        pieces: list[AnswerToken] = []
        if self.echo and chunk.prompt:
            pieces += self._echo(chunk.prompt)
            self._prompt_pieces = len(pieces)
        if chunk.token is not None:
            self.made += 1
            self._group.append(chunk.token)
            self._group_text += self._decoder.decode(chunk.token.bytes)
        is_within_character = bool(self._decoder.getstate()[0])
        if self._group and (self.echo or self.finish_reason is not None or not is_within_character):
            self._hold(self._group_text, self._group)
            self._group, self._group_text = [], ""
        ready = len(self._held)
        begun = 0 if self.includes_stop or self.finish_reason is not None else self.stops.begun
        while begun > 0:
            ready -= 1
            begun -= len(self._held[ready].text)
        pieces += [self._piece(*held) for held in self._held[:ready]]
        del self._held[:ready]
        self.pieces += pieces
        return pieces

    def _echo(self, tokens: Sequence[EngineToken]) -> list[AnswerToken]:
        parts = [token.bytes for token in tokens]
        if self.prompt_text is not None:
            parts = without_lead(parts, self.prompt_text.encode())
        pieces = []
        for place, (token, part) in enumerate(zip(tokens, parts, strict=True)):
            text, name = self._decoder.decode(part), _name(part)
            top = self._rows(name, token, token.logprob) if place else None
            pieces.append(AnswerToken(text, token.logprob, top, name))
        return pieces

    def _hold(self, text: str, tokens: Sequence[EngineToken]) -> None:
        """Take a token, without what follows a stop text, and without the stop text if it is unwanted."""
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
    def text(self) -> str:
        """The choice's text so far."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def mean_logprob(self) -> float:
        """The mean logprob of the generated pieces, in nats; minus infinity where there are none."""
        return mean_logprob(self.pieces[self._prompt_pieces :])

    def _piece(self, text: str, tokens: Sequence[EngineToken]) -> AnswerToken:
        first = tokens[0]
        logprobs = [token.logprob for token in tokens if token.logprob is not None]
        logprob = sum(logprobs) if len(logprobs) == len(tokens) else None
        if self.logprobs is None:
            return AnswerToken(text, logprob)
        spelling = _escape(first.bytes) if self.echo and not _is_text(first.bytes) else None
        name = text if spelling is None else spelling
        return AnswerToken(text, logprob, self._rows(name, first, logprob, len(tokens) > 1), spelling)

    def _rows(
        self, name: str, token: EngineToken, logprob: float | None, is_group: bool = False
    ) -> tuple[tuple[str, float | None], ...]:
        rows: dict[str, float | None] = {}
        for one in token.candidates[: self.logprobs]:
            if is_group or one.id != token.id:
                key = token_key(one, self.name_of)
                rows[_escape(one.bytes) if key == name or key in rows else key] = one.logprob
            else:
                rows[name] = logprob
        rows.setdefault(name, logprob)
        return tuple(rows.items())


def token_key(token: Candidate, name_of: Callable[[int], str]) -> str:
    """A token's text as a key: its own, its name where it has none, its bytes where they are not text."""
    return _name(token.bytes) if token.bytes else name_of(token.id)


def without_lead(parts: Sequence[bytes], text: bytes) -> list[bytes]:
    """The bytes of a text's tokens, without what the tokenizer put before the text."""
    whole = b"".join(parts)
    lead = len(whole) - len(text) if whole.endswith(text) else 0
    shortened = []
    for part in parts:
        shortened.append(part[lead:])
        lead = max(0, lead - len(part))
    return shortened


def logprobs_json(pieces: Sequence[AnswerToken], offset: int) -> dict[str, JsonValue]:
    """The contract's `logprobs` object; `offset` is where the first piece begins, in characters."""
    offsets: list[int] = []
    for piece in pieces:
        offsets.append(offset)
        offset += len(piece.text)
    return {
        "tokens": [piece.name for piece in pieces],
        "token_logprobs": [piece.logprob for piece in pieces],
        "top_logprobs": [None if piece.top is None else dict(piece.top) for piece in pieces],
        "text_offset": offsets,
    }


def mean_logprob(pieces: Iterable[AnswerToken]) -> float:
    """The mean logprob of the pieces that have one; minus infinity where none has."""
    values = [piece.logprob for piece in pieces if piece.logprob is not None]
    return sum(values) / len(values) if values else float("-inf")


def rank(builders: Sequence[ChoiceBuilder], keep: int) -> list[ChoiceBuilder]:
    """The choices with the highest mean logprob, best first; equals keep their order."""
    return sorted(builders, key=lambda builder: -builder.mean_logprob)[:keep]


def usage_json(prompt_tokens: int, completion_tokens: int) -> dict[str, JsonValue]:
    """The contract's `usage` object."""
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
    return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
