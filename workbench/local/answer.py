"""The answer's choices in the contract's shape: tokens that join exactly, true offsets, ranking, usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class ChoiceBuilder:
    """Turns the engine's events for one choice into pieces, until it ends."""

    logprobs: int | None
    """How many alternatives each piece shall have; None asks for no logprobs."""
    stops: StopMatcher
    name_of: Callable[[int], str]
    """The name of a token that has no text of its own."""
    finish_reason: str | None = None
    """Why the choice ended; None while it has not."""
    made: int = 0
    """How many tokens were generated."""
    pieces: list[Piece] = field(default_factory=list)
    """Everything so far."""

    def take(self, chunk: Chunk) -> list[Piece]:
        """The pieces that an event adds; after a stop text there are none."""
        if self.finish_reason is not None:
            return []
        together = chunk.made - self.made
        self.made = max(self.made, chunk.made)
        self.finish_reason = chunk.finish_reason
        if not chunk.text and chunk.taken is None:
            return []
        text = chunk.text
        if (kept := self.stops.feed(text)) is not None:
            text = text[:kept]
            self.finish_reason = "stop"
        piece = self._piece(text, chunk, is_group=together > 1)
        self.pieces.append(piece)
        return [piece]

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
