"""The interface between the server and an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workbench.local.sampler_options import SamplerOptions


@dataclass(frozen=True, slots=True)
class Facts:
    """Information about the loaded model."""

    context: int
    """Maximum tokens of prompt and answer together."""
    trained_context: int
    vocabulary: int
    """Number of token ids."""
    parameters: int
    size: int
    """Size of the weights in bytes."""
    chat_template: str
    bos_token: str
    eos_token: str


@dataclass(frozen=True, slots=True)
class EngineToken:
    """A token of a prompt or of an answer, or one that the model might have chosen instead."""

    id: int
    bytes: bytes
    """Its exact bytes; empty for a control token, except in a prompt."""
    logprob: float | None = None
    """Nats, before sampling; None if logprobs were not requested, for the first token of a prompt, and for
    probability 0."""
    candidates: tuple[EngineToken, ...] = ()
    """The most likely tokens at its position, most likely first, as many as requested."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """An event of a choice: it started, evaluated its prompt, generated a token, ended or failed."""

    prompt: tuple[EngineToken, ...] = ()
    """The whole prompt, once, if requested."""
    token: EngineToken | None = None
    finish_reason: str | None = None
    error: str = ""
    """Why the choice failed; otherwise empty."""
    param: str | None = None
    """The request field that caused the error; None for an error of the engine."""


@dataclass(slots=True)
class Generation:
    """Choices to generate: `len(seeds)` for each prompt."""

    prompts: Sequence[Sequence[int]]
    seeds: Sequence[int]
    max_tokens: int
    sampling: SamplerOptions
    logprobs: int | None
    """Number of candidates per token; None for no logprobs."""
    echo: bool
    """Whether to report the prompt's tokens too."""
    on_chunk: Callable[[int, Chunk], object]
    """Called in the thread that receives the events, with the choice's index: prompt number × candidates +
    candidate number."""
    ended: set[int] = field(default_factory=set, init=False)
    """Indices of choices to end; any thread may add to it."""
    is_cancelled: bool = field(default=False, init=False)
    """Set, from any thread, to end all choices at once."""


class Engine(Protocol):
    """An engine. All methods may be called from any thread."""

    @property
    def facts(self) -> Facts:
        """Information about the loaded model."""
        ...

    def submit(self, generation: Generation) -> None:
        """Queue a generation; returns at once.

        Every choice ends with a chunk that has a finish reason or an error, unless the caller ends it.
        """
        ...

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Return a text's token ids."""
        ...

    def token_bytes(self, token: int, special: bool) -> bytes:
        """Return a token's exact bytes; empty for a control token unless `special`."""
        ...

    def stop(self) -> None:
        """End all current and future choices with an error; returns at once."""
        ...

    def close(self) -> None:
        """Stop and unload the model; returns when that is done."""
        ...
