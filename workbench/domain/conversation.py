"""Conversations: turns with roles, which a template makes into one prompt, and the branches of a session."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.variables import fill


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


SYSTEM = "system"
"""The id of the turn that a session file keeps the system prompt as."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the session's conversation."""

    role: str
    text: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    run: str = ""
    """Id of the run that answered it; empty for a turn that a person wrote."""
    choice: int = 0
    """Index of the run's choice that was taken."""
    parent: str = ""
    """Id of the turn before it; empty for a first turn."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Keys of a session file that this version does not know; kept as they are."""


class Turns(NamedTuple):
    """All turns in the order in which they were made; turns with the same parent are branches."""

    all: tuple[Turn, ...] = ()
    last: str = ""
    """Id of the turn that the path shown ends with; empty where there is none."""

    def path(self) -> tuple[Turn, ...]:
        """The turns shown, the first one first."""
        by_id = {turn.id: turn for turn in self.all}
        found: list[Turn] = []
        turn = by_id.pop(self.last, None)
        while turn is not None:
            found.append(turn)
            # A damaged file may hold a circle: no turn is taken twice.
            turn = by_id.pop(turn.parent, None)
        return tuple(reversed(found))

    def branches(self, turn: Turn) -> tuple[Turn, ...]:
        """The turns that stand at the same place, the turn itself among them, in order of making."""
        return tuple(other for other in self.all if other.parent == turn.parent)

    def branch_counts(self) -> Mapping[str, tuple[int, int]]:
        """For every turn that has others at its place: its number among them, from 1, and how many."""
        at: dict[str, list[str]] = {}
        for turn in self.all:
            at.setdefault(turn.parent, []).append(turn.id)
        return {
            id: (number, len(ids)) for ids in at.values() if len(ids) > 1 for number, id in enumerate(ids, 1)
        }

    def with_turn(self, turn: Turn) -> Turns:
        """The same with one more turn, which the path then ends with."""
        return Turns((*self.all, turn), turn.id)

    def changed(self, turn: Turn) -> Turns:
        """The same with a turn in another state, found by its id."""
        return self._replace(all=tuple(turn if other.id == turn.id else other for other in self.all))

    def beside(self, turn: Turn, step: int) -> Turns:
        """The path through another branch at a turn, `step` further on, to the newest end of it."""
        ids = [branch.id for branch in self.branches(turn)]
        index = ids.index(turn.id) + step
        return self._replace(last=self._end_of(ids[index])) if 0 <= index < len(ids) else self

    def ending_with(self, id: str) -> Turns:
        """The path that ends with a turn, though others may come after it."""
        return self._replace(last=id)

    def without(self, ids: Iterable[str]) -> Turns:
        """The same without some turns and all that come after them."""
        gone = set(ids)
        kept: Sequence[Turn] = self.all
        count = -1
        # A turn stands after its parent, so that one look is enough, but in a file put together by hand.
        while count != len(gone):
            count = len(gone)
            gone.update(turn.id for turn in kept if turn.parent in gone)
            kept = [turn for turn in kept if turn.id not in gone]
        return Turns(tuple(kept))._ending_near(self)

    def with_all(self, turns: Iterable[Turn], last: str) -> Turns:
        """The same with turns put back, and the path that ends with `last`."""
        return Turns((*self.all, *turns), last)

    def saying(self, messages: Sequence[Message]) -> Turns:
        """The path that says just this: through turns that are there, as far as they go, and new ones."""
        turns = self.ending_with("")
        for message in messages:
            wanted = (message.role, message.text, turns.last)
            there = next((old.id for old in turns.all if (old.role, old.text, old.parent) == wanted), None)
            turn = Turn(message.role, message.text, parent=turns.last)
            turns = turns.with_turn(turn) if there is None else turns.ending_with(there)
        return turns

    def merged(self, theirs: Turns) -> Turns:
        """These turns and those that another window kept; the path stays this one's where it has any."""
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
        """The path of turns that are left: along the one there was, then through a branch beside the gap."""
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
    """Turns of a file that names neither branches nor the end: each comes after the one before it."""
    found: list[Turn] = []
    for turn in turns:
        id = turn.id or uuid.uuid4().hex
        found.append(replace(turn, id=id, parent=found[-1].id if found else ""))
    return Turns(tuple(found), found[-1].id if found else "")


@dataclass(frozen=True, slots=True)
class Chat:
    """The conversation of a session, and how it becomes a prompt."""

    turns: Turns = field(default_factory=Turns)
    system: str | None = None
    """The system prompt; None leaves it to the template."""
    template: str = ""
    """Name or file of the template; empty is the endpoint's own."""
    prefixes: Prefixes = field(default_factory=Prefixes)
    """What the plain template puts before each turn."""
    when_full: WhenFull = WhenFull.REFUSE
    """What is left out where the prompt outgrows the context."""
    context: int | None = None
    """Tokens that prompt and answer may take together, where a person set it."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Keys of a session file that this version does not know; kept as they are."""

    def conversation(
        self, path: Sequence[Turn], variables: Mapping[str, str], prefill: str = ""
    ) -> Conversation:
        """What a path of turns says, with the variables of all that a person wrote filled in."""
        # What a model wrote is its own, even where it looks like a variable.
        messages = tuple(
            Message(Role(turn.role), turn.text if turn.run else fill(turn.text, variables).text)
            for turn in path
            if turn.role in _ROLES
        )
        system = None if self.system is None else fill(self.system, variables).text
        return Conversation(messages, system, prefill)
