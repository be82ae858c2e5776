"""The answer's choices in the contract's shape: tokens that join exactly, true offsets, ranking, usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.domain.json_values import JsonValue
from workbench.local.engine import Candidate, Chunk
from workbench.local.stops import StopMatcher


@dataclass(frozen=True, slots=True)
class Piece:
    """A token of the answer, or a group of tokens that make up whole characters only together."""

    text: str
    logprob: float | None = None
    """Nats; None for a group, as the engine tells only its last token's."""
    top: tuple[tuple[str, float | None], ...] = ()
    """The likeliest tokens, and the taken one where it is not among them."""


class _HeldToken(NamedTuple):
    """A token, or a group of them, that is not yet part of the answer."""

    text: str
    """What of its text may be sent."""
    chunk: Chunk
    is_group: bool


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
    finish_reason: str | None = None
    """Why the choice ended; None while it has not."""
    made: int = 0
    """How many tokens were generated."""
    pieces: list[Piece] = field(default_factory=list)
    """Everything so far."""
    _held: list[_HeldToken] = field(default_factory=list)

    def take(self, chunk: Chunk) -> list[Piece]:
        """The pieces that an event adds; after a stop text there are none."""
        if self.finish_reason is not None:
            return []
        together = chunk.made - self.made
        self.made = max(self.made, chunk.made)
        self.finish_reason = chunk.finish_reason
        if chunk.text or chunk.taken is not None:
            self._hold(chunk, is_group=together > 1)
        ready = len(self._held)
        begun = 0 if self.includes_stop or self.finish_reason is not None else self.stops.begun
        while begun > 0:
            ready -= 1
            begun -= len(self._held[ready].text)
        pieces = [self._piece(*token) for token in self._held[:ready]]
        del self._held[:ready]
        self.pieces += pieces
        return pieces

    def _hold(self, chunk: Chunk, is_group: bool) -> None:
        """Take a token, without what follows a stop text, and without the stop text if it is unwanted."""
        match = self.stops.feed(chunk.text)
        if match is None:
            self._held.append(_HeldToken(chunk.text, chunk, is_group))
            return
        self.finish_reason = "stop"
        self._held.append(_HeldToken(chunk.text[: match.end], chunk, is_group))
        unwanted = 0 if self.includes_stop else match.length
        while unwanted > 0:
            token = self._held.pop()
            if len(token.text) > unwanted:
                self._held.append(token._replace(text=token.text[:-unwanted]))
            unwanted -= len(token.text)

    @property
    def text(self) -> str:
        """The choice's text so far."""
        return "".join(piece.text for piece in self.pieces)

    def _piece(self, text: str, chunk: Chunk, is_group: bool) -> Piece:
        taken = chunk.taken
        if taken is None:
            return Piece(text)
        logprob = None if is_group else taken.logprob
        if self.logprobs is None:
            return Piece(text, logprob)
        rows: dict[str, float | None] = {}
        for one in chunk.candidates[: self.logprobs]:
            if is_group or one.id != taken.id:
                key = token_key(one, self.name_of)
                rows[_escape(one.bytes) if key == text or key in rows else key] = one.logprob
            else:
                rows[text] = logprob
        rows.setdefault(text, logprob)
        return Piece(text, logprob, tuple(rows.items()))


def token_key(token: Candidate, name_of: Callable[[int], str]) -> str:
    """A token's text as a key: its own, its name where it has none, its bytes where they are no text."""
    if not token.bytes:
        return name_of(token.id)
    try:
        return token.bytes.decode()
    except UnicodeDecodeError:
        return _escape(token.bytes)


def logprobs_json(pieces: Sequence[Piece], offset: int) -> dict[str, JsonValue]:
    """The contract's `logprobs` object; `offset` is where the first piece begins, in characters."""
    offsets: list[int] = []
    for piece in pieces:
        offsets.append(offset)
        offset += len(piece.text)
    return {
        "tokens": [piece.text for piece in pieces],
        "token_logprobs": [piece.logprob for piece in pieces],
        "top_logprobs": [dict(piece.top) for piece in pieces],
        "text_offset": offsets,
    }


def mean_logprob(pieces: Iterable[Piece]) -> float:
    """The mean logprob of the pieces that have one; minus infinity where none has."""
    values = [piece.logprob for piece in pieces if piece.logprob is not None]
    return sum(values) / len(values) if values else float("-inf")


def rank(candidates: Sequence[Sequence[Piece]], keep: int) -> list[int]:
    """The places of the candidates with the highest mean logprob, best first; equals keep their order."""
    order = sorted(range(len(candidates)), key=lambda place: -mean_logprob(candidates[place]))
    return order[:keep]


def usage_json(prompt_tokens: int, completion_tokens: int) -> dict[str, JsonValue]:
    """The contract's `usage` object."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _escape(data: bytes) -> str:
    return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
