"""Convert a session's head, conversation and runs to TOML tables and back; see `run_format`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from workbench.domain.conversation import SYSTEM, Chat, Prefixes, Role, Turn, Turns, WhenFull, linked
from workbench.domain.errors import BadValueError
from workbench.domain.parameter_table import PARAMETERS
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import PromptKind
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.storage.run_format import json_table, plain_table, run_from_table
from workbench.storage.toml_files import EPOCH, BadField, in_utc, record, table_of, unknown
from workbench.storage.toml_text import sound, toml_table


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
    """Return a conversation's table without its turns; empty if nothing is set."""
    last = chat.turns.last if chat.turns.all else None
    return {**table_of(_Chat(chat.template, last, chat.when_full, chat.context, chat.prefixes)), **chat.other}


def turns_to_tables(chat: Chat) -> list[dict[str, Any]]:
    """Return the tables of a conversation's turns, with the system prompt as the first."""
    system = [] if chat.system is None else [Turn(Role.SYSTEM, chat.system, SYSTEM)]
    names = _Turn.__struct_fields__
    return [
        {**table_of(_Turn(*(getattr(turn, name) for name in names)), "id", "role", "text"), **turn.other}
        for turn in (*system, *chat.turns.all)
    ]


def chat_from_tables(table: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> Chat:
    """Parse a conversation. Raises BadField, which names the table and the invalid key."""
    file = record(table, _Chat, "the session: chat")
    read = [
        (entry, record(entry, _Turn, f"the session: turns {number}")) for number, entry in enumerate(turns, 1)
    ]
    found = [Turn(**msgspec.structs.asdict(turn), other=unknown(entry, _Turn)) for entry, turn in read]
    system = None
    if found and found[0].role == Role.SYSTEM and found[0].id in ("", SYSTEM):
        system, found = found[0].text, found[1:]
    # Turns written by hand have no `last` and no parents; they form a single path.
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


FORMAT = 1
"""The format version that this program writes."""

_KNOWN = {parameter.name for parameter in PARAMETERS}


class _Draft(Struct, frozen=True):
    endpoint: str = ""
    model: str = ""
    preset: str = ""
    prompt_kind: PromptKind = PromptKind.TEXT
    turn: str = ""
    prompt: str = ""
    parameters: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    extra_json: dict[str, str] = {}


class _Session(Struct, frozen=True):
    """The structure of a session file."""

    format: int = 0
    id: str = ""
    title: str = ""
    created: datetime = EPOCH
    tags: tuple[str, ...] = ()
    draft: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    chat: dict[str, Any] = {}
    turns: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []


def head_to_toml(session: Session) -> str:
    """Return the text of a session file before its runs."""
    head = _Session(
        FORMAT,
        session.id,
        session.title,
        session.created,
        session.tags,
        draft_to_table(session.draft),
        dict(session.variables),
        chat_to_table(session.chat),
    )
    lines = toml_table({**table_of(head, "id", "title", "created", "draft"), **session.other})
    turns = turns_to_tables(session.chat)
    return sound("".join(chain(lines, *(("\n[[turns]]\n", *toml_table(turn, "turns")) for turn in turns))))


def session_from_tables(document: Mapping[str, object]) -> Session:
    """Create a session from a parsed file. Raises BadField, which names the table and the invalid key."""
    file = record(document, _Session, "the session")
    return Session(
        id=file.id,
        title=file.title,
        created=in_utc(file.created),
        tags=file.tags,
        draft=draft_from_table(file.draft),
        runs=runs_from_tables(document),
        chat=chat_from_tables(file.chat, file.turns),
        variables={name: str(value) for name, value in file.variables.items()},
        other=unknown(document, _Session),
    )


def runs_from_tables(document: Mapping[str, object]) -> list[Run]:
    """Create the runs of a parsed file. Raises BadField, which names the table and the invalid key."""
    runs = record({"runs": document.get("runs", [])}, _Session, "the session").runs
    return [run_from_table(run, f"the session: runs {number}") for number, run in enumerate(runs, 1)]


def draft_to_table(draft: Draft) -> dict[str, Any]:
    """Return a draft's table."""
    unknown = draft.other.get("parameters")
    table = table_of(
        _Draft(
            draft.endpoint,
            draft.model,
            draft.preset,
            draft.kind,
            draft.turn,
            draft.prompt,
            {**draft.parameters.to_json(), **(unknown if isinstance(unknown, Mapping) else {})},
            *plain_table(draft.parameters.extra),
        ),
        "endpoint",
        "model",
        "prompt",
        "parameters",
    )
    return {**table, **{key: value for key, value in draft.other.items() if key != "parameters"}}


def draft_from_table(table: Mapping[str, Any]) -> Draft:
    """Parse a draft's table; parameters unknown to this version are kept in `other`.

    Raises BadField for a value of the wrong type.
    """
    file = record(table, _Draft, "the draft")
    known = {name: value for name, value in file.parameters.items() if name in _KNOWN}
    others = {name: value for name, value in file.parameters.items() if name not in _KNOWN}
    try:
        parameters = Parameters.from_json(json_table(known), json_table(file.extra, file.extra_json))
    except BadValueError as error:
        raise BadField(f"the draft: {error.title}") from None
    other = {**unknown(table, _Draft), **({"parameters": others} if others else {})}
    return Draft(
        file.endpoint, file.model, file.preset, file.prompt, file.prompt_kind, parameters, file.turn, other
    )
