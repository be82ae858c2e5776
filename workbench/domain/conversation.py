"""Conversations: messages that a template turns into a prompt, and the branching turns of a session."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.variables import fill


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


_ROLES = tuple(Role)


class WhenFull(StrEnum):
    """How to truncate a conversation that exceeds the model's context.

    The system prompt and the last user turn are always kept.
    """

    REFUSE = "refuse"
    """Do not send the run."""
    DROP_OLDEST = "drop oldest"
    """Drop as few of the oldest exchanges as necessary."""
    KEEP_FIRST = "keep first"
    """Like DROP_OLDEST, but keep the first exchange, which often sets the task."""
    LAST_ONLY = "last only"
    """Drop everything before the last user turn."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The text before each turn, by role, and between turns, in a plain-text conversation."""

    user: str = "User: "
    assistant: str = "Assistant: "
    system: str = ""
    separator: str = "\n"


class Message(NamedTuple):
    """One message of a conversation."""

    role: Role
    text: str


class Conversation(NamedTuple):
    """The messages so far, and the prefill of the next answer."""

    messages: tuple[Message, ...] = ()
    system: str | None = None
    """The system prompt; None leaves it to the template, an empty string means none."""
    prefill: str = ""
    """The text that the next answer begins with."""


def conversation_to_json(conversation: Conversation) -> list[dict[str, str]]:
    """Return the messages in the format of chat endpoints, the system prompt first, without the prefill."""
    system = [{"role": Role.SYSTEM.value, "content": conversation.system}] if conversation.system else []
    messages = ({"role": message.role.value, "content": message.text} for message in conversation.messages)
    return [*system, *messages]


def conversation_from_json(value: JsonValue) -> Conversation:
    """Parse a list of `{"role": …, "content": …}`, or an object with such a list as `messages`.

    A leading system message becomes the system prompt; an object may also hold `system` and `prefill`.
    Raises BadValueError, which names the invalid message, counted from 1.
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


SYSTEM = "system"
"""The id of the turn that holds the system prompt in a session file."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the session's conversation."""

    role: str
    text: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    run: str = ""
    """Id of the run that generated the text; empty for a turn written by the user."""
    choice: int = 0
    """Index of the run's choice that holds the text."""
    parent: str = ""
    """Id of the previous turn; empty for a first turn."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Session file keys unknown to this version, kept unchanged."""


class Turns(NamedTuple):
    """All turns in order of creation; turns with the same parent are branches."""

    all: tuple[Turn, ...] = ()
    last: str = ""
    """Id of the last turn of the shown path; empty if no turn is shown."""

    def path(self) -> tuple[Turn, ...]:
        """Return the shown turns in order."""
        by_id = {turn.id: turn for turn in self.all}
        found: list[Turn] = []
        turn = by_id.pop(self.last, None)
        while turn is not None:
            found.append(turn)
            # A damaged file may hold a cycle: `pop` visits each turn only once.
            turn = by_id.pop(turn.parent, None)
        return tuple(reversed(found))

    def branches(self, turn: Turn) -> tuple[Turn, ...]:
        """Return all turns with the same parent, including the turn itself, in order of creation."""
        return tuple(other for other in self.all if other.parent == turn.parent)

    def branch_counts(self) -> Mapping[str, tuple[int, int]]:
        """For every turn with siblings, return its number among them, from 1, and their count."""
        at: dict[str, list[str]] = {}
        for turn in self.all:
            at.setdefault(turn.parent, []).append(turn.id)
        return {
            id: (number, len(ids)) for ids in at.values() if len(ids) > 1 for number, id in enumerate(ids, 1)
        }

    def with_turn(self, turn: Turn) -> Turns:
        """Add a turn and end the path with it."""
        return Turns((*self.all, turn), turn.id)

    def changed(self, turn: Turn) -> Turns:
        """Replace the turn that has the same id."""
        return self._replace(all=tuple(turn if other.id == turn.id else other for other in self.all))

    def beside(self, turn: Turn, step: int) -> Turns:
        """Move the path `step` branches on at a turn, to the newest end of that branch."""
        ids = [branch.id for branch in self.branches(turn)]
        index = ids.index(turn.id) + step
        return self._replace(last=self._end_of(ids[index])) if 0 <= index < len(ids) else self

    def ending_with(self, id: str) -> Turns:
        """End the path with a turn, even if it has descendants."""
        return self._replace(last=id)

    def without(self, ids: Iterable[str]) -> Turns:
        """Remove the turns and all their descendants."""
        gone = set(ids)
        kept: Sequence[Turn] = self.all
        count = -1
        # One pass is enough unless a hand-edited file lists a turn before its parent.
        while count != len(gone):
            count = len(gone)
            gone.update(turn.id for turn in kept if turn.parent in gone)
            kept = [turn for turn in kept if turn.id not in gone]
        return Turns(tuple(kept))._ending_near(self)

    def with_all(self, turns: Iterable[Turn], last: str) -> Turns:
        """Add the turns and end the path with `last`."""
        return Turns((*self.all, *turns), last)

    def saying(self, messages: Sequence[Message]) -> Turns:
        """Return a path with exactly these messages, through existing turns where they match."""
        turns = self.ending_with("")
        for message in messages:
            wanted = (message.role, message.text, turns.last)
            there = next((old.id for old in turns.all if (old.role, old.text, old.parent) == wanted), None)
            turn = Turn(message.role, message.text, parent=turns.last)
            turns = turns.with_turn(turn) if there is None else turns.ending_with(there)
        return turns

    def merged(self, theirs: Turns) -> Turns:
        """Merge the turns saved by another window; keep the path of this one if it has any."""
        turns = {turn.id: turn for turn in (*theirs.all, *self.all)}
        return Turns(tuple(turns.values()), self.last or theirs.last)

    def _end_of(self, id: str) -> str:
        newest = {turn.parent: turn.id for turn in self.all}
        seen = {id}
        while (after := newest.get(id)) is not None and after not in seen:
            seen.add(after)
            id = after
        return id

    def _ending_near(self, before: Turns) -> Turns:
        """Follow the old path as far as it remains, then the newest branch beside the removed turn."""
        have = {turn.id for turn in self.all}
        at = ""
        for turn in before.path():
            if turn.id not in have:
                break
            at = turn.id
        beside = [turn.id for turn in self.all if turn.parent == at]
        if at == before.last or not beside:
            return self._replace(last=at)
        return self._replace(last=self._end_of(beside[-1]))


def linked(turns: Sequence[Turn]) -> Turns:
    """Link the turns of a file without parent ids into one path, in file order."""
    found: list[Turn] = []
    for turn in turns:
        id = turn.id or uuid.uuid4().hex
        found.append(replace(turn, id=id, parent=found[-1].id if found else ""))
    return Turns(tuple(found), found[-1].id if found else "")


class Chat(NamedTuple):
    """A session's conversation and its template settings."""

    turns: Turns = Turns()
    system: str | None = None
    """The system prompt; None leaves it to the template."""
    template: str = ""
    """Name or file of the template; empty for the endpoint's template."""
    prefixes: Prefixes = Prefixes()
    """Used by the plain template."""
    when_full: WhenFull = WhenFull.REFUSE
    context: int | None = None
    """Context window in tokens (prompt and answer together), if set by the user."""
    other: Mapping[str, object] = MappingProxyType({})
    """Session file keys unknown to this version, kept unchanged."""

    def conversation(
        self, path: Sequence[Turn], variables: Mapping[str, str], prefill: str = ""
    ) -> Conversation:
        """Return the conversation of a path, with variables filled in where the user wrote the text."""
        # Generated text may look like a variable, but is never filled in.
        messages = tuple(
            Message(Role(turn.role), turn.text if turn.run else fill(turn.text, variables).text)
            for turn in path
            if turn.role in _ROLES
        )
        system = None if self.system is None else fill(self.system, variables).text
        return Conversation(messages, system, prefill)
