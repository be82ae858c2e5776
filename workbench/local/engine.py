"""What the server needs of an engine, and the values that pass between the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workbench.local.sampling import SamplerOptions


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
    """A token that the model might choose."""

    id: int
    bytes: bytes
    """Its exact bytes; none for a control token."""
    logprob: float | None
    """Nats, of the model's own distribution; None where the model rules the token out."""


@dataclass(frozen=True, slots=True)
class EngineToken:
    """A token of a prompt or of an answer."""

    id: int
    bytes: bytes
    """Its exact bytes; a control token has some in a prompt only."""
    logprob: float | None = None
    """Nats; None where logprobs were not requested, and for the first token of a prompt."""
    candidates: tuple[Candidate, ...] = ()
    """The likeliest tokens in its place, likeliest first, as many as were requested."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """An event of one choice: it started, its prompt was evaluated, a token came, it ended or failed."""

    prompt: tuple[EngineToken, ...] = ()
    """The whole prompt, once, where it was requested."""
    token: EngineToken | None = None
    finish_reason: str | None = None
    error: str = ""
    """Why the engine gave the choice up; empty where it did not."""
    param: str | None = None
    """The request's field that the error is about; None where it lies in the engine."""


@dataclass(slots=True)
class Generation:
    """Choices to generate: `len(seeds)` for each prompt."""

    prompts: Sequence[Sequence[int]]
    seeds: Sequence[int]
    max_tokens: int
    sampling: SamplerOptions
    logprobs: int | None
    """How many candidates each token shall have; None for no logprobs."""
    echo: bool
    """Whether to report the tokens of the prompt too."""
    on_chunk: Callable[[int, Chunk], object]
    """Called in the thread that takes the events, with the choice's index: prompt number × candidates +
    candidate."""
    ended: set[int] = field(default_factory=set, init=False)
    """Indices of the choices that shall not go on; added to from any thread."""
    is_cancelled: bool = field(default=False, init=False)
    """Set, from any thread, to end all choices at once."""


class Engine(Protocol):
    """What the server needs of an engine. All methods may be called from any thread."""

    @property
    def facts(self) -> Facts:
        """The loaded model's facts."""
        ...

    def submit(self, generation: Generation) -> None:
        """Generate as soon as it is this request's turn; returns at once.

        Every choice ends in a chunk with a finish reason or an error, unless it was ended before.
        """
        ...

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Return a text's token ids."""
        ...

    def token_bytes(self, token: int, special: bool) -> bytes:
        """Return a token's exact bytes; a control token has some only if `special`."""
        ...

    def stop(self) -> None:
        """End every choice with an error, and every further one; returns at once."""
        ...

    def close(self) -> None:
        """Stop and unload the model; returns when that is done."""
        ...
