"""Tables of files that the program writes, as structures; keys that this version does not know are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import MAXYEAR, UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from workbench.storage.toml_files import typed

_T = TypeVar("_T", bound=Struct)

EPOCH = datetime.fromtimestamp(0, UTC)
"""The moment where a file names none."""


class BadField(ValueError):
    """A key holds another type of value than it should."""


def record(table: object, kind: type[_T], where: str) -> _T:
    """A table as a structure; `where` names the table in messages. Raises BadField with the key at fault."""
    if not isinstance(table, Mapping):
        raise BadField(f"{where} is not a table")
    found, faults = typed(table, kind)
    if found is None or faults:
        raise BadField(f"{where}: {faults[0].name} {faults[0].why}")
    return found


def unknown(table: Mapping[str, Any], kind: type[Struct]) -> dict[str, Any]:
    """What a table holds besides a structure's keys."""
    return {name: value for name, value in table.items() if name not in kind.__struct_fields__}


def table_of(value: Any, *always: str) -> dict[str, Any]:
    """The table of a structure or dataclass: all that differs from the defaults, and the keys `always`."""
    found = ((name, default, getattr(value, name)) for name, default in _defaults(value.__class__).items())
    return {name: _plain(current) for name, default, current in found if name in always or current != default}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    fields = msgspec.structs.fields(kind) if issubclass(kind, Struct) else dataclasses.fields(kind)
    return {
        one.name: one.default_factory() if callable(one.default_factory) else one.default for one in fields
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Struct) or dataclasses.is_dataclass(value):
        return table_of(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def in_utc(moment: datetime) -> datetime:
    """A moment in UTC, as one without a zone is. Raises BadField where it has no date in some time zone."""
    try:
        there = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if EPOCH.year <= there.year < MAXYEAR:
            return there
    except OverflowError:
        pass
    raise BadField(f"{moment} is not between {EPOCH.year} and {MAXYEAR - 1}")
