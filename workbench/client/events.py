"""What a client tells of an exchange, in order, as typed events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from workbench.domain.choice import ReceivedToken
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonObject
from workbench.domain.run import Usage


class RequestSent(Struct, frozen=True):
    """The request goes out."""

    url: str
    """Without user name and password."""
    body: JsonObject
    """As sent."""


class ResponseStarted(Struct, frozen=True):
    """The endpoint accepted the request; text is still to come."""

    status: int
    request_id: str = ""


class KeepAlive(Struct, frozen=True):
    """The endpoint gave a sign of life that is not text."""

    text: str = ""
    """The message, as one safe line."""


class ResponseInfo(Struct, frozen=True):
    """What the answer says of itself; sent again when it changes."""

    response_id: str = ""
    model: str = ""
    created: int | None = None
    """Unix seconds."""


class Delta(Struct, frozen=True, gc=False):
    """More of one choice; a struct, as there is one for every token."""

    choice: int
    """Its index."""
    tokens: Sequence[ReceivedToken]
    replaces: bool = False
    """Whether the tokens stand in place of all that came before (their texts join to the same text)."""


class PromptTokens(Struct, frozen=True):
    """The tokens of a prompt, reported apart from the choices that answer it."""

    tokens: Sequence[ReceivedToken]
    """Each as the endpoint names it."""
    choice: int | None = None
    """Index of the choice they came with; None where they are for all that answer the prompt."""
    prompt: int = 0
    """Number of the prompt in the request, from 0."""


class Finished(Struct, frozen=True):
    """A choice has its finish_reason, in the endpoint's own word."""

    index: int
    reason: str


class UsageReceived(Struct, frozen=True):
    """Token counts, as far as the endpoint has them; the last one counts."""

    usage: Usage


class Warning(Struct, frozen=True):
    """Something a person should know of the answer."""

    text: str


class Error(Struct, frozen=True):
    """An error in place of an answer or within it; what came before stays."""

    error: EndpointError
    can_retry: bool = False
    """Whether the request may be sent again: nothing was generated for it, so nobody bills it."""


class DoneReceived(Struct, frozen=True):
    """The endpoint marked the end of its answer, by [DONE] or by a whole JSON body; usage may follow."""


class End(Struct, frozen=True):
    """Nothing more comes; always the last event."""

    error: EndpointError | None = None
    """Why the connection ended early, where it did."""


Event: TypeAlias = (
    RequestSent
    | ResponseStarted
    | KeepAlive
    | ResponseInfo
    | Delta
    | PromptTokens
    | Finished
    | UsageReceived
    | Warning
    | Error
    | DoneReceived
    | End
)
