"""Convert TOML files to structures, with errors that name the file, the line and a remedy."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from datetime import MAXYEAR, UTC, datetime
from difflib import get_close_matches
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import tomli
from msgspec import Meta, Struct

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.storage.files import read_text
from workbench.storage.toml_editing import NotEditable, at, changed, statements
from workbench.storage.toml_text import parse

_T = TypeVar("_T")

_MOST_BYTES = 2_000_000
_PATH = r" - at `\$([^`]*)`$"
_UNKNOWN = "Object contains unknown field"
_STEP = r"\.([^.\[]+)|(\[\.\.\.\])|\[(\d+)\]"


class Fault(Struct, frozen=True):
    """An invalid key or value in a table."""

    key: tuple[str, ...]
    """The names of its tables, and its own name."""
    why: str
    """A phrase that follows the key's name: "must be true or false"."""
    hint: str = ""
    """What to do next."""

    @property
    def name(self) -> str:
        """The dotted key, such as `key.environment`."""
        return ".".join(self.key)


class TomlFile(Struct, frozen=True):
    """A TOML file's text and its parsed table."""

    path: Path
    text: str
    table: dict[str, Any]

    def error(self, fault: Fault) -> StorageError:
        """Return a fault as an error that names the file and the line."""
        line = self._line_of(fault.key)
        where = f"{self.path.name}, line {line}" if line else self.path.name
        name = one_line(fault.name, 60)
        return StorageError(
            f"{where}: {name} {fault.why}", "", fault.hint, path=str(self.path), line=line, key=name
        )

    def _line_of(self, key: tuple[str, ...]) -> int | None:
        """Return the line of a key, else of the innermost table around it; None if neither is found."""
        lines: dict[tuple[str, ...], int] = {}
        try:
            for statement in statements(self.text.split("\n")):
                for end in range(len(statement.path), 0, -1):
                    lines.setdefault(statement.path[:end], statement.first + 1)
        except NotEditable:
            pass
        return next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), None)


def read_toml(path: Path) -> TomlFile:
    """Read a TOML file. Raises StorageError if it cannot be read, or, with the line, if it is not TOML."""
    text = read_text(path, _MOST_BYTES)
    try:
        return TomlFile(path, text, parse(text))
    except tomli.TOMLDecodeError as error:
        raise StorageError(
            f"{path.name}, line {error.lineno}: not valid TOML",
            one_line(error.msg, 120),
            'Strings need quotes: name = "value".',
            path=str(path),
            line=error.lineno,
        ) from None


def typed(table: Mapping[str, Any], kind: type[_T]) -> tuple[_T | None, list[Fault]]:
    """Convert a table to a structure, in which invalid keys have their defaults, and return the faults too.

    The structure is None if a required key is missing or invalid. msgspec is slow to evaluate string
    annotations, so modules with structures read at the start omit `from __future__ import annotations`.
    """
    faults: list[Fault] = []
    while True:
        try:
            return msgspec.convert(table, kind), faults
        except msgspec.ValidationError as error:
            fault = _fault(str(error), table, kind)
        missing = fault.key in (known.key for known in faults)
        if not missing:
            faults.append(fault)
        if missing or at(table, fault.key) is None:
            return None, faults
        table = changed(table, fault.key, None)


def about(description: str, **constraints: Any) -> Meta:
    """Return a key's description and constraints, used by errors, the form and editors."""
    return Meta(description=description, **constraints)


def unknown_key(key: tuple[str, ...], known: Iterable[str]) -> Fault:
    """Return the fault for an unknown key, with a similar known key as hint."""
    known = list(known)
    near = get_close_matches(key[-1], known, 1, 0.5)
    return Fault(
        key, "is not a known key", f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
    )


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a structure, without references."""
    (found,), components = msgspec.json.schema_components((kind,), ref_template="{name}")

    def resolved(schema: Any) -> Any:
        if isinstance(schema, list):
            return [resolved(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if name := schema.get("$ref"):
            # A title describes the valid values; the generated one is only the class name.
            schema = {**components[name], **schema}
            del schema["$ref"], schema["title"]
        if names := schema.get("propertyNames"):
            # Editors complete only `properties`.
            by_name = dict.fromkeys(names["enum"], schema.get("additionalProperties", {}))
            schema = {**schema, "properties": {**by_name, **schema.get("properties", {})}}
        return {key: resolved(item) for key, item in schema.items()}

    schema: dict[str, Any] = resolved(found)
    return schema


def _fault(message: str, table: Mapping[str, Any], kind: Any) -> Fault:
    """Convert a msgspec error message to a fault."""
    is_unknown = message.startswith(_UNKNOWN)
    # An unknown key may contain text that looks like a path.
    found = None if any(message == f"{_UNKNOWN} `{name}`" for name in table) else re.search(_PATH, message)
    schema = schema_of(kind)
    key: tuple[str, ...] = ()
    for step, is_any, entry in re.findall(_STEP, found[1] if found else ""):
        if entry:
            if schema.get("items", {}).get("type") == "object":
                return Fault(key, f"has a mistake in entry {int(entry) + 1}")
            break
        inner = at(table, key)
        # msgspec does not name the invalid key of a mapping, so each is tried alone.
        only = ((part, changed(table, key, {part: inner[part]})) for part in inner)
        alone = (part for part, with_part in only if _message(with_part, kind) == message)
        name = next(alone) if is_any else step
        key = (*key, name)
        schema = schema.get("anyOf", [schema])[0]
        schema = schema.get("properties", {}).get(name) or schema["additionalProperties"]
    value = at(table, key)
    if is_unknown:
        known = schema["properties"]
        return unknown_key((*key, next(name for name in value if name not in known)), known)
    if message.startswith("Object missing required field"):
        name = next(name for name in schema["required"] if name not in value)
        examples = schema["properties"][name].get("examples", [])
        return Fault(
            (*key, name), "is missing", "".join(f'Such as {name} = "{example}".' for example in examples)
        )
    wanted = _wanted(schema, key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and "number" in wanted
    return Fault(key, f"must be {wanted} (got {value})" if is_number else f"must be {wanted}")


def _message(table: Mapping[str, Any], kind: Any) -> str:
    try:
        msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _wanted(schema: Mapping[str, Any], key: tuple[str, ...] = ()) -> str:
    """Describe the valid values of a JSON schema."""
    match schema:
        case {"title": str(title)}:
            return title
        case {"anyOf": [first, *_]}:
            return _wanted(first, key)
        case {"enum": names}:
            return f"one of {', '.join(names)}"
        case {"type": "string"}:
            return "a string in quotes"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "array", "items": items}:
            return "a list of strings" if items.get("type") == "string" else "a list"
        case {"type": "object"}:
            return f"a table: [{'.'.join(key)}]"
    kind = "a whole number" if schema["type"] == "integer" else "a number"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        return kind
    return f"{kind}, at least {low}" if high is None else f"{kind} between {low} and {high}"


_Record = TypeVar("_Record", bound=Struct)

EPOCH = datetime.fromtimestamp(0, UTC)
"""The time used if a file has none."""


class BadField(ValueError):
    """A key has an invalid value."""


def record(table: object, kind: type[_Record], where: str) -> _Record:
    """Convert a table to a structure; `where` names it in messages. Raises BadField, which names the key."""
    if not isinstance(table, Mapping):
        raise BadField(f"{where} is not a table")
    found, faults = typed(table, kind)
    if found is None or faults:
        raise BadField(f"{where}: {faults[0].name} {faults[0].why}")
    return found


def unknown(table: Mapping[str, Any], kind: type[Struct]) -> dict[str, Any]:
    """Return the entries of a table that are not fields of a structure."""
    return {name: value for name, value in table.items() if name not in kind.__struct_fields__}


def table_of(value: Any, *always: str) -> dict[str, Any]:
    """Convert a structure or dataclass to a table of the keys `always` and all non-default values."""
    found = ((name, default, getattr(value, name)) for name, default in _defaults(value.__class__).items())
    return {name: _plain(current) for name, default, current in found if name in always or current != default}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    fields = msgspec.structs.fields(kind) if issubclass(kind, Struct) else dataclasses.fields(kind)
    return {
        field.name: field.default_factory() if callable(field.default_factory) else field.default
        for field in fields
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Struct) or dataclasses.is_dataclass(value):
        return table_of(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def in_utc(moment: datetime) -> datetime:
    """Convert a time to UTC, assumed if it has no zone. Raises BadField if its year is out of range."""
    try:
        there = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if EPOCH.year <= there.year < MAXYEAR:
            return there
    except OverflowError:
        pass
    raise BadField(f"{moment} is not between {EPOCH.year} and {MAXYEAR - 1}")
