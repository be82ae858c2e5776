"""The typed events that a client yields for an exchange, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from workbench.domain.choice import ReceivedToken
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonObject
from workbench.domain.run import Usage


class RequestSent(Struct, frozen=True):
    """The request is about to be sent."""

    body: JsonObject
    """As sent."""


class ResponseStarted(Struct, frozen=True):
    """The endpoint accepted the request; no text has been received yet."""


class KeepAlive(Struct, frozen=True):
    """The endpoint sent a comment to keep the connection alive."""

    text: str = ""
    """The comment, as one safe line."""


class ResponseInfo(Struct, frozen=True):
    """Metadata of the response; sent again when it changes."""

    response_id: str = ""
    model: str = ""
    created: int | None = None
    """Unix seconds."""


class Delta(Struct, frozen=True, gc=False):
    """New tokens of one choice."""

    choice: int
    """Index of the choice."""
    tokens: Sequence[ReceivedToken]
    replaces: bool = False
    """Whether the tokens replace all earlier ones of the choice; their texts join to the same text."""


class PromptTokens(Struct, frozen=True):
    """The tokens of a prompt, reported separately from the text of the choices."""

    tokens: Sequence[ReceivedToken]
    """The tokens, with the endpoint's names."""
    choice: int | None = None
    """Index of the choice that has them; None if they apply to all choices of the prompt."""
    prompt: int = 0
    """Index of the prompt in the request."""


class Finished(Struct, frozen=True):
    """The finish_reason of a choice, as received."""

    index: int
    reason: str


class UsageReceived(Struct, frozen=True):
    """Token counts so far; a later event replaces an earlier one."""

    usage: Usage


class Warning(Struct, frozen=True):
    """A remark on the answer for the person; it may come again."""

    text: str


class Error(Struct, frozen=True):
    """An error instead of an answer or within it; the text received before is kept."""

    error: EndpointError
    can_retry: bool = False
    """Whether the request may be retried: nothing was generated, so nothing is billed."""


class DoneReceived(Struct, frozen=True):
    """The end of the answer was received: [DONE] or a complete JSON body; usage may still follow."""


class End(Struct, frozen=True):
    """The end of the exchange; always the last event."""

    error: EndpointError | None = None
    """Why the connection ended early; None if it did not."""


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
