"""Conversations: turns with roles, which a template makes into one prompt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue


class Role(StrEnum):
    """Who speaks in a turn."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


_ROLES = tuple(Role)


class WhenFull(StrEnum):
    """What a person wants left out of a prompt that has outgrown the model's context.

    The system prompt and the last turn of the user always stay.
    """

    REFUSE = "refuse"
    """Nothing: the run is not sent."""
    DROP_OLDEST = "drop oldest"
    """The oldest exchanges, as few as need be."""
    KEEP_FIRST = "keep first"
    """The oldest exchanges after the first one, which often sets the task."""
    LAST_ONLY = "last only"
    """Everything before the last turn of the user."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a conversation in plain text puts before each turn, and between turns."""

    user: str = "User: "
    assistant: str = "Assistant: "
    system: str = ""
    separator: str = "\n"


class Message(NamedTuple):
    """One turn."""

    role: Role
    text: str


class Conversation(NamedTuple):
    """The messages so far, and how the next answer begins."""

    messages: tuple[Message, ...] = ()
    """The turns in order."""
    system: str | None = None
    """The system prompt; None leaves it to the template, an empty text asks for none."""
    prefill: str = ""
    """The beginning of the next answer, for the model to go on from; empty where it begins itself."""


def conversation_to_json(conversation: Conversation) -> list[dict[str, str]]:
    """The turns as chat endpoints spell them, the system prompt first, without the prefill."""
    system = [{"role": Role.SYSTEM.value, "content": conversation.system}] if conversation.system else []
    messages = ({"role": message.role.value, "content": message.text} for message in conversation.messages)
    return [*system, *messages]


def conversation_from_json(value: JsonValue) -> Conversation:
    """The conversation in a list of `{"role": …, "content": …}`, or in an object that has it as `messages`.

    A first turn of the system becomes the system prompt; an object may also hold `system` and `prefill`.
    Raises BadValueError naming the turn at fault, counted from 1.
    """
    system: JsonValue = None
    prefill: JsonValue = ""
    if isinstance(value, dict):
        system, prefill = value.get("system"), value.get("prefill", "")
        value = value.get("messages")
    if not isinstance(value, list):
        raise _bad("must be a list of turns")
    if not (system is None or isinstance(system, str)) or not isinstance(prefill, str):
        raise _bad("system and prefill must be strings")
    messages = tuple(_message(number, turn) for number, turn in enumerate(value, 1))
    if system is None and messages and messages[0].role is Role.SYSTEM:
        return Conversation(messages[1:], messages[0].text, prefill)
    return Conversation(messages, system, prefill)


def _message(number: int, value: JsonValue) -> Message:
    match value:
        case {"role": str(role), "content": str(text)} if role in _ROLES:
            return Message(Role(role), text)
        case {"role": str(role)} if role not in _ROLES:
            raise _bad(f"turn {number} has the role {role[:40]!r}")
        case _:
            raise _bad(f"turn {number} needs a role and a content that is a text")


def _bad(why: str) -> BadValueError:
    roles = ", ".join(_ROLES)
    return BadValueError(
        f"conversation: {why}",
        hint=f'Turns look like {{"role": "user", "content": "…"}}; roles are {roles}.',
        field="messages",
    )
