"""Runs: a request and its response."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.domain.choice import Choice
from workbench.domain.errors import EndpointError, WorkbenchError
from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt, TokensPrompt, single_prompts
from workbench.domain.request import Request

if TYPE_CHECKING:
    from workbench.domain.split import SentPart, Split


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    """Every choice has a finish_reason."""
    UNFINISHED = "unfinished"
    """The end was received (`[DONE]`), but a choice has no finish_reason."""
    TRUNCATED = "truncated"
    """The end (`[DONE]`) is missing, and a choice has no finish_reason."""
    STOPPED = "stopped"
    """The user stopped the run."""
    ERROR = "error"
    """The run failed; text received so far is kept."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as last reported by the endpoint."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Parent:
    """The run that another run branched from, and the branch point."""

    run: str = ""
    """Id of the parent run; empty if the file no longer contains it."""
    choice: int = 0
    token: int = 0
    """Index of the first token that is not shared."""
    alternative: str = ""
    """The text that replaces this token; empty if the token is sampled again."""
    kind: str = "branch"
    """`branch`, `again` (regenerated from the same prefix), `continue`, `rerun`, or `blessed` (a rerun that
    later checks compare with)."""

    @property
    def is_rerun(self) -> bool:
        """Whether the whole request was repeated."""
        return self.kind in ("rerun", "blessed")


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a failed run, as stored in a file."""

    title: str = ""
    message: str = ""
    hint: str = ""
    status: int | None = None
    request_id: str = ""

    @staticmethod
    def of(error: WorkbenchError) -> Failure:
        """Create a failure from an error."""
        if isinstance(error, EndpointError):
            return Failure(error.title, error.message, error.hint, error.status, error.request_id)
        return Failure(error.title, error.message, error.hint)

    def as_error(self) -> EndpointError:
        """Return the failure as an error to raise."""
        return EndpointError(self.title, self.message, self.hint, self.status, self.request_id)


@dataclass(slots=True)
class Run:
    """A request and its response; updated while the response streams."""

    request: Request
    endpoint: str = ""
    """Name of the endpoint."""
    id: str = field(default_factory=lambda: os.urandom(16).hex())
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    sent: JsonObject = field(default_factory=dict)
    """The body as sent, after renaming by the endpoint's aliases."""
    choices: dict[int, Choice] = field(default_factory=dict)
    """Choices by index, in order of arrival."""
    model: str = ""
    """As reported by the endpoint; may differ from the requested model."""
    response_id: str = ""
    created: int | None = None
    """Unix time in seconds, as reported by the endpoint."""
    outcome: Outcome | None = None
    """None while the run is in progress."""
    usage: Usage | None = None
    total: float | None = None
    """Seconds from the request to the end; None while the run is in progress."""
    error: Failure | None = None
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, without duplicates (`n` ignored, logprobs missing, …)."""
    preset: str = ""
    """Name of the preset used, if any."""
    parent: Parent | None = None
    added: tuple[str, ...] = ()
    """Names of parameters that the workbench added: the stop of a chat template, or a seed it drew."""
    group: str = ""
    """Id of the run's comparison, sweep or prompt set."""
    name: str = ""
    """Name given by the user."""
    tags: tuple[str, ...] = ()
    turn: str = ""
    """Id of the conversation turn that the run answers."""
    split: Split | None = None
    """How the request is split into several; None for a single request."""
    parts: tuple[SentPart, ...] = ()
    """The requests sent if split; `sent` is the body of the first."""
    raw_logprobs: bool | None = None
    """Whether logprobs are raw model probabilities, before sampling; None if unknown."""
    other: Mapping[str, JsonValue] = field(default_factory=dict)
    """Session file keys unknown to this version, kept unchanged."""

    def choice(self, index: int) -> Choice:
        """Return the choice with an index, created if missing."""
        found = self.choices.get(index)
        if found is None:
            top = self.request.parameters.get("logprobs")
            found = self.choices[index] = Choice(index, max(top, 0) if isinstance(top, int) else None)
        return found

    def prompt_of(self, choice: Choice) -> TextPrompt | TokensPrompt:
        """Return the prompt that a choice answers; its index is prompt_number * n + choice_number."""
        prompts = single_prompts(self.request.prompt)
        each = max(int(self.request.parameters.number("n", 1)), 1)
        return prompts[min(choice.index // each, len(prompts) - 1)]

    @property
    def bodies(self) -> tuple[JsonObject, ...]:
        """The bodies sent, or the one to send if none was."""
        if not self.parts:
            return (self.sent or self.request.body(),)
        return tuple({**self.sent, **part.changes} for part in self.parts)

    @property
    def settings(self) -> Parameters:
        """The parameters set by the user."""
        return self.request.parameters.set_all(dict.fromkeys(self.added))

    @property
    def ordered(self) -> list[Choice]:
        """The choices sorted by index."""
        return [self.choices[index] for index in sorted(self.choices)]

    @property
    def first_token(self) -> float | None:
        """Seconds from the request to the first token of any choice; None without tokens."""
        return min((choice.at[0] for choice in self.choices.values() if len(choice)), default=None)

    @property
    def is_running(self) -> bool:
        """Whether the run is in progress."""
        return self.outcome is None

    @property
    def is_answered(self) -> bool:
        """Whether the response was received up to its end."""
        return self.outcome in (Outcome.COMPLETE, Outcome.UNFINISHED)

    @property
    def tokens(self) -> int:
        """The number of tokens stored, over all choices."""
        return sum(map(len, self.choices.values()))

    def note(self, text: str) -> None:
        """Add a note unless it exists."""
        if text not in self.notes:
            self.notes.append(text)
