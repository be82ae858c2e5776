"""Find and change single values in TOML text, without losing comments and order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli
from msgspec import Struct

from workbench.storage.toml_text import parse, toml_key, toml_value

_PART = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*="


class NotEditable(ValueError):
    """A value is written such that it cannot be changed without changing other values."""


class Statement(Struct, frozen=True):
    """A table header, or a `key = value`, which may span several lines."""

    path: tuple[str, ...]
    """The names of its tables, and its own name."""
    first: int
    last: int
    """First and last line, counted from 0."""
    value: object
    """None for a header."""


def statements(lines: Sequence[str]) -> Iterator[Statement]:
    """Yield the headers and values of a valid TOML text in order."""
    table: tuple[str, ...] = ()
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.lstrip().startswith("["):
            table = _names(parse(line))
            yield Statement(table, number, number, None)
        elif key := re.match(_KEY, line):
            last, value = _value_at(lines, number)
            names = _names(parse(f"{key[0]}0"))
            for name in names:
                value = value[name]
            yield Statement((*table, *names), number, last, value)
            number = last
        number += 1


def _names(value: object) -> tuple[str, ...]:
    """Return the keys of nested tables that have one key each."""
    while isinstance(value, list):
        value = value[0]
    if not isinstance(value, Mapping) or not value:
        return ()
    ((name, inner),) = value.items()
    return (name, *_names(inner))


def _value_at(lines: Sequence[str], first: int) -> tuple[int, Any]:
    """Return the last line of a statement, and its parsed table."""
    for last in range(first, len(lines)):
        try:
            return last, parse("\n".join(lines[first : last + 1]))
        except tomli.TOMLDecodeError:
            continue
    raise NotEditable(lines[first])


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """Set a value in a TOML text, or remove it if None; `path` is a key, or a table and a key.

    Values are strings, numbers, booleans and lists of them. Raises NotEditable if anything else in the file
    would change.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    try:
        wanted = changed(parse(text), path, value)
        edited = "\n".join(_edited(lines, tuple(path), value))
        if parse(edited) == wanted:
            return edited.replace("\n", "\r\n") if text.count("\r\n") == text.count("\n") else edited
    except (TypeError, tomli.TOMLDecodeError):
        pass
    raise NotEditable(".".join(path))


def changed(table: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """Return a table with a value set, or removed if None; inner tables that become empty are removed too.

    Raises TypeError if the path leads through a value that is not a table.
    """
    copy = dict(table)
    name, *inner_path = path
    if inner_path:
        inner = copy.get(name, {})
        if not isinstance(inner, Mapping):
            raise TypeError(f"{name} is not a table")
        value = changed(inner, inner_path, value) or None
    copy[name] = value
    return copy if value is not None else {key: kept for key, kept in copy.items() if key != name}


def _edited(lines: list[str], path: tuple[str, ...], value: object) -> list[str]:
    found = list(statements(lines))
    for statement in found:
        if statement.value is not None and statement.path == path:
            return _replaced(lines, statement, value)
        if statement.path == path[:-1] and isinstance(statement.value, Mapping):
            return _replaced(lines, statement, changed(statement.value, path[-1:], value) or None)
    return lines if value is None else _added(lines, found, path, value)


def _replaced(lines: list[str], statement: Statement, value: object) -> list[str]:
    before, after = lines[: statement.first], lines[statement.last + 1 :]
    if value is None:
        return _without_empty_table([*before, *after], statement.path[:-1])
    start = lines[statement.first].partition("=")[0].rstrip()
    comment = _comment(lines[statement.first : statement.last + 1])
    return [*before, f"{start} = {toml_value(value)}{comment}", *after]


def _comment(lines: list[str]) -> str:
    """Return the comment after a value, including the whitespace before it."""
    last, value = lines[-1], parse("\n".join(lines))
    for found in re.finditer(r"\s*#", last):
        try:
            if parse("\n".join([*lines[:-1], last[: found.start()]])) == value:
                return last[found.start() :]
        except tomli.TOMLDecodeError:
            continue
    return ""


def _without_empty_table(lines: list[str], table: tuple[str, ...]) -> list[str]:
    """Remove the header of a table if it is empty."""
    inside = [statement for statement in statements(lines) if table and statement.path[: len(table)] == table]
    if len(inside) != 1 or inside[0].value is not None:
        return lines
    return [*lines[: inside[0].first], *lines[inside[0].last + 1 :]]


def _added(lines: list[str], found: list[Statement], path: tuple[str, ...], value: object) -> list[str]:
    line, table = f"{toml_key(path[-1])} = {toml_value(value)}", path[:-1]
    headers = [statement for statement in found if statement.value is None]
    header = next((statement.first for statement in headers if statement.path == table), None)
    others = [statement for statement in found if statement.value is not None]
    beside = [statement.last for statement in others if statement.path[:-1] == table]
    if table and header is None:
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        return [*lines, *([""] if lines else []), f"[{'.'.join(map(toml_key, table))}]", line, ""]
    if beside:
        at = max(beside) + 1
    elif header is not None:
        at = header + 1
    else:
        at = headers[0].first if headers else len([text for text in lines if text.strip()])
    return [*lines[:at], line, *(lines[at:] or [""])]
