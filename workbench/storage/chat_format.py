"""The conversation of a session file, as TOML tables and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.domain.conversation import Prefixes, Role, WhenFull
from workbench.domain.turns import SYSTEM, Chat, Turn, Turns, linked
from workbench.storage.fields import BadField, Fields

_PREFIXES = ("user", "assistant", "system", "separator")


def chat_to_table(chat: Chat) -> dict[str, object]:
    """All of a conversation but its turns; empty where nothing of it is set."""
    table: dict[str, object] = {}
    if chat.template:
        table["template"] = chat.template
    if chat.turns.all:
        table["last"] = chat.turns.last
    if chat.when_full is not WhenFull.REFUSE:
        table["when_full"] = chat.when_full.value
    if chat.context is not None:
        table["context"] = chat.context
    if chat.prefixes != Prefixes():
        table["prefixes"] = {name: getattr(chat.prefixes, name) for name in _PREFIXES}
    return {**table, **chat.other}


def turns_to_tables(chat: Chat) -> list[dict[str, object]]:
    """The turns of a conversation, its system prompt as the first."""
    system = [] if chat.system is None else [Turn(Role.SYSTEM, chat.system, SYSTEM)]
    return [_turn_to_table(turn) for turn in (*system, *chat.turns.all)]


def chat_from_tables(fields: Fields, turns: Sequence[Fields]) -> Chat:
    """The conversation that a file holds. Raises BadField naming the table and key at fault."""
    found = [_turn_from_table(one) for one in turns]
    system = None
    if found and found[0].role == Role.SYSTEM and found[0].id in ("", SYSTEM):
        system, found = found[0].text, found[1:]
    # Where the end of the path is not named, somebody wrote the turns by hand, one after another.
    is_tree = "last" in fields or any(turn.parent for turn in found)
    last = fields.text("last")
    when_full = fields.text("when_full")
    if when_full and when_full not in list(WhenFull):
        raise BadField(f"the session: chat: when_full {when_full!r} is none of {', '.join(WhenFull)}")
    return Chat(
        Turns(tuple(found), last) if is_tree else linked(found),
        system,
        fields.text("template"),
        _prefixes(fields),
        WhenFull(when_full or WhenFull.REFUSE),
        fields.optional_integer("context"),
        fields.rest(),
    )


def _prefixes(fields: Fields) -> Prefixes:
    if "prefixes" not in fields:
        return Prefixes()
    table = fields.table("prefixes")
    given = {name: table.text(name) for name in _PREFIXES if name in table}
    return replace(Prefixes(), **given)


def _turn_to_table(turn: Turn) -> dict[str, object]:
    table: dict[str, object] = {"id": turn.id, "role": turn.role}
    if turn.run:
        table["run"], table["choice"] = turn.run, turn.choice
    if turn.parent:
        table["parent"] = turn.parent
    return {**table, "text": turn.text, **turn.other}


def _turn_from_table(fields: Fields) -> Turn:
    return Turn(
        id=fields.text("id"),
        role=fields.text("role"),
        text=fields.text("text"),
        run=fields.text("run"),
        choice=fields.integer("choice"),
        parent=fields.text("parent"),
        other=fields.rest(),
    )
