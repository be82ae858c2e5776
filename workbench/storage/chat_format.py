"""The conversation of a session file, as TOML tables and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from workbench.domain.conversation import Prefixes, Role, WhenFull
from workbench.domain.turns import SYSTEM, Chat, Turn, Turns, linked
from workbench.storage.records import record, table_of, unknown


class _Chat(Struct, frozen=True):
    template: str = ""
    last: str | None = None
    when_full: WhenFull = WhenFull.REFUSE
    context: int | None = None
    prefixes: Prefixes = Prefixes()


class _Turn(Struct, frozen=True):
    id: str = ""
    role: str = ""
    run: str = ""
    choice: int = 0
    parent: str = ""
    text: str = ""


def chat_to_table(chat: Chat) -> dict[str, Any]:
    """All of a conversation but its turns; empty where nothing of it is set."""
    last = chat.turns.last if chat.turns.all else None
    return {**table_of(_Chat(chat.template, last, chat.when_full, chat.context, chat.prefixes)), **chat.other}


def turns_to_tables(chat: Chat) -> list[dict[str, Any]]:
    """The turns of a conversation, its system prompt as the first."""
    system = [] if chat.system is None else [Turn(Role.SYSTEM, chat.system, SYSTEM)]
    names = _Turn.__struct_fields__
    return [
        {**table_of(_Turn(*(getattr(turn, name) for name in names)), "id", "role", "text"), **turn.other}
        for turn in (*system, *chat.turns.all)
    ]


def chat_from_tables(table: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> Chat:
    """The conversation that a file holds. Raises BadField naming the table and key at fault."""
    file = record(table, _Chat, "the session: chat")
    read = [(one, record(one, _Turn, f"the session: turns {number}")) for number, one in enumerate(turns, 1)]
    found = [Turn(**msgspec.structs.asdict(turn), other=unknown(one, _Turn)) for one, turn in read]
    system = None
    if found and found[0].role == Role.SYSTEM and found[0].id in ("", SYSTEM):
        system, found = found[0].text, found[1:]
    # Where the end of the path is not named, somebody wrote the turns by hand, one after another.
    is_tree = file.last is not None or any(turn.parent for turn in found)
    return Chat(
        Turns(tuple(found), file.last or "") if is_tree else linked(found),
        system,
        file.template,
        file.prefixes,
        file.when_full,
        file.context,
        unknown(table, _Chat),
    )
