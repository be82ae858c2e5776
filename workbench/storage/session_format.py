"""The head of a session file and its runs, as TOML tables and back; see `run_format` for the runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from workbench.domain.errors import BadValueError
from workbench.domain.parameters import PARAMETERS
from workbench.domain.prompt import PromptKind
from workbench.domain.request import Parameters
from workbench.domain.session import Draft, Session
from workbench.storage.chat_format import chat_from_tables, chat_to_table, turns_to_tables
from workbench.storage.fields import BadField, Fields
from workbench.storage.run_format import json_table, plain_table, run_from_table
from workbench.storage.toml_text import sound, toml_table

FORMAT = 1
"""The version of the format that this program writes."""

_KNOWN = {one.name for one in PARAMETERS}


def head_to_toml(session: Session) -> str:
    """Everything of a session file that stands before its runs."""
    head: dict[str, object] = {"format": FORMAT, "id": session.id, "title": session.title}
    head["created"] = session.created
    if session.tags:
        head["tags"] = list(session.tags)
    head["draft"] = draft_to_table(session.draft)
    if session.variables:
        head["variables"] = dict(session.variables)
    if chat := chat_to_table(session.chat):
        head["chat"] = chat
    turns = turns_to_tables(session.chat)
    lines = toml_table({**head, **session.other})
    return sound("".join(chain(lines, *(("\n[[turns]]\n", *toml_table(one, "turns")) for one in turns))))


def session_from_tables(document: Mapping[str, object]) -> Session:
    """The session that a parsed file holds. Raises BadField naming the table and key at fault."""
    fields = Fields(document, "the session")
    fields.optional_integer("format")
    return Session(
        id=fields.text("id"),
        title=fields.text("title"),
        created=fields.time("created"),
        tags=fields.texts("tags"),
        draft=draft_from_table(fields.table("draft")),
        runs=[run_from_table(one) for one in fields.tables("runs")],
        chat=chat_from_tables(fields.table("chat"), fields.tables("turns")),
        variables={name: str(value) for name, value in fields.table("variables").rest().items()},
        other=fields.rest(),
    )


def draft_to_table(draft: Draft) -> dict[str, object]:
    """A draft as a file holds it."""
    table: dict[str, object] = {"endpoint": draft.endpoint, "model": draft.model}
    if draft.preset:
        table["preset"] = draft.preset
    if draft.kind is not PromptKind.TEXT:
        table["prompt_kind"] = draft.kind.value
    if draft.turn:
        table["turn"] = draft.turn
    table["prompt"] = draft.prompt
    unknown = draft.other.get("parameters")
    table["parameters"] = {
        **draft.parameters.to_json(),
        **(unknown if isinstance(unknown, Mapping) else {}),
    }
    plain, as_json = plain_table(draft.parameters.extra)
    if plain:
        table["extra"] = plain
    if as_json:
        table["extra_json"] = as_json
    return {**table, **{key: value for key, value in draft.other.items() if key != "parameters"}}


def draft_from_table(fields: Fields) -> Draft:
    """The draft in a table; parameters that this version does not know are kept aside.

    Raises BadField for a value of another type.
    """
    endpoint, model, preset = fields.text("endpoint"), fields.text("model"), fields.text("preset")
    turn = fields.text("turn")
    kind, prompt = fields.text("prompt_kind"), fields.text("prompt")
    values = fields.table("parameters").rest()
    extra = json_table(fields.table("extra").rest(), fields.table("extra_json").rest())
    try:
        parameters = Parameters.from_json(json_table({k: values.pop(k) for k in _KNOWN & set(values)}), extra)
        prompt_kind = PromptKind(kind or PromptKind.TEXT)
    except BadValueError as error:
        raise BadField(f"the draft: {error.title}") from None
    except ValueError:
        raise BadField(f"the draft: prompt_kind {kind!r} is none") from None
    other = {**fields.rest(), **({"parameters": values} if values else {})}
    return Draft(endpoint, model, preset, prompt, prompt_kind, parameters, turn, other)
