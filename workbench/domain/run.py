"""A run: one request, and all that came back."""

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
from workbench.domain.prompt import TextPrompt, TokensPrompt, single_prompts
from workbench.domain.request import Request

if TYPE_CHECKING:
    from workbench.domain.split import SentPart, Split


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    """Every choice has its finish_reason."""
    UNFINISHED = "unfinished"
    """The end was marked, but a choice has no finish_reason."""
    TRUNCATED = "truncated"
    """The end was not marked, and a choice has no finish_reason."""
    STOPPED = "stopped"
    """The user stopped it."""
    ERROR = "error"
    """Something went wrong; the text so far is kept."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the endpoint last reported them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Parent:
    """Where a branch diverges from another run."""

    run: str = ""
    """Id of the run it branched from; empty where a file no longer has it."""
    choice: int = 0
    token: int = 0
    """Index of the first token that the branch does not share."""
    alternative: str = ""
    """The text taken in that token's place; empty where the following tokens are sampled again."""
    kind: str = "branch"
    """`branch`, `again` (the same prefix rolled again), `continue`, `rerun`, or `blessed` (a rerun that later
    checks compare with)."""

    @property
    def is_rerun(self) -> bool:
        """Whether the whole request was sent again."""
        return self.kind in ("rerun", "blessed")


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, in words a person can use and a file can keep."""

    title: str = ""
    message: str = ""
    hint: str = ""
    status: int | None = None
    request_id: str = ""

    @staticmethod
    def of(error: WorkbenchError) -> Failure:
        """The failure that an error describes."""
        if isinstance(error, EndpointError):
            return Failure(error.title, error.message, error.hint, error.status, error.request_id)
        return Failure(error.title, error.message, error.hint)

    def as_error(self) -> EndpointError:
        """The failure as an error to raise."""
        return EndpointError(self.title, self.message, self.hint, self.status, self.request_id)


@dataclass(slots=True)
class Run:
    """One request and all that came back; grows while it streams."""

    request: Request
    endpoint: str = ""
    """Name of the endpoint it was sent to."""
    id: str = field(default_factory=lambda: os.urandom(16).hex())
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    sent: JsonObject = field(default_factory=dict)
    """The body as it was sent, which an endpoint's aliases may spell otherwise than the request."""
    choices: dict[int, Choice] = field(default_factory=dict)
    """Choices by index, in order of arrival."""
    model: str = ""
    """As the endpoint answered; may differ from the one asked for."""
    response_id: str = ""
    created: int | None = None
    """Unix seconds, as the endpoint says."""
    outcome: Outcome | None = None
    """None while it runs."""
    usage: Usage | None = None
    total: float | None = None
    """Seconds from the request to the end; None while it runs."""
    error: Failure | None = None
    notes: list[str] = field(default_factory=list)
    """What a person should know of the answer, each noted once (`n` ignored, logprobs missing, …)."""
    preset: str = ""
    """Name of the preset whose parameters it used, if any."""
    parent: Parent | None = None
    group: str = ""
    """Id of the comparison or sweep it belongs to."""
    name: str = ""
    """A name the user gave it."""
    tags: tuple[str, ...] = ()
    turn: str = ""
    """Id of the turn of a conversation that it answers."""
    split: Split | None = None
    """What gets a request of its own, where it goes out as several requests; None for one plain request."""
    parts: tuple[SentPart, ...] = ()
    """The requests that it went out as; `sent` is the first one's body."""
    raw_logprobs: bool | None = None
    """Whether logprobs are the model's own, before sampling; None where unknown."""
    other: Mapping[str, JsonValue] = field(default_factory=dict)
    """Keys of a session file that this version does not know; kept as they are."""

    def choice(self, index: int) -> Choice:
        """The choice with an index, made where it is new."""
        found = self.choices.get(index)
        if found is None:
            top = self.request.parameters.get("logprobs")
            found = self.choices[index] = Choice(index, max(top, 0) if isinstance(top, int) else None)
        return found

    def prompt_of(self, choice: Choice) -> TextPrompt | TokensPrompt:
        """The one prompt that a choice answers; choices count as prompt_number * n + choice_number."""
        prompts = single_prompts(self.request.prompt)
        each = max(int(self.request.parameters.number("n", 1)), 1)
        return prompts[min(choice.index // each, len(prompts) - 1)]

    @property
    def bodies(self) -> tuple[JsonObject, ...]:
        """Every body as it was sent, or would be where nothing was."""
        if not self.parts:
            return (self.sent or self.request.body(),)
        return tuple({**self.sent, **part.changes} for part in self.parts)

    @property
    def ordered(self) -> list[Choice]:
        """The choices by index."""
        return [self.choices[index] for index in sorted(self.choices)]

    @property
    def first_token(self) -> float | None:
        """Seconds from the request to the first token of any choice; None where none came."""
        return min((choice.at[0] for choice in self.choices.values() if len(choice)), default=None)

    @property
    def is_running(self) -> bool:
        """Whether more may come."""
        return self.outcome is None

    @property
    def is_answered(self) -> bool:
        """Whether the answer came to its marked end."""
        return self.outcome in (Outcome.COMPLETE, Outcome.UNFINISHED)

    @property
    def tokens(self) -> int:
        """Tokens stored over all choices."""
        return sum(map(len, self.choices.values()))

    def note(self, text: str) -> None:
        """Keep a remark, once."""
        if text not in self.notes:
            self.notes.append(text)
