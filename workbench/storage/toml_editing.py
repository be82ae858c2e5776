"""Find and change single values in TOML text, without losing comments and order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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


def rewritten(text: str, wanted: Mapping[str, Any]) -> str:
    """Return a TOML text with the values of another table; comments, order and equal values stay as written.

    Values are strings, numbers, booleans and lists of them. Raises NotEditable if the text cannot be changed
    such that it has exactly these values.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    found = list(statements(lines))
    for statement in reversed(found):
        value, span = at(wanted, statement.path), slice(statement.first, statement.last + 1)
        if value is None:
            del lines[span]
        elif statement.value is not None and statement.value != value:
            start = lines[statement.first].partition("=")[0].rstrip()
            lines[span] = [f"{start} = {toml_value(value)}{_comment(lines[span])}"]
    held = {statement.path for statement in found if statement.value is not None}
    new = {path: value for path, value in flat(wanted) if not held & {path, path[:-1]}}
    for path, value in new.items():
        lines = _added(lines, path, value)
    edited = "\n".join(lines)
    with suppress(tomli.TOMLDecodeError):
        if parse(edited) == wanted:
            return edited.replace("\n", "\r\n") if text.count("\r\n") == text.count("\n") else edited
    before, after = dict(flat(parse(text))), dict(flat(wanted))
    different = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    raise NotEditable(", ".join(map(".".join, different)))


def changed(table: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """Return a table with a value set, or removed if None; inner tables that become empty are removed too.

    Raises NotEditable if the path leads through a value that is not a table.
    """
    copy = dict(table)
    name, *inner_path = path
    if inner_path:
        inner = copy.get(name, {})
        if not isinstance(inner, Mapping):
            raise NotEditable(f"{name} is not a table")
        value = changed(inner, inner_path, value) or None
    copy[name] = value
    return copy if value is not None else {key: kept for key, kept in copy.items() if key != name}


def at(table: Any, path: Iterable[str]) -> Any:
    """Return the value at a path; None if there is none."""
    for name in path:
        table = table.get(name) if isinstance(table, Mapping) else None
    return table


def flat(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the values in a table and its inner tables with their paths."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, (*path, name))
        else:
            yield (*path, name), value


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


def _added(lines: list[str], path: tuple[str, ...], value: object) -> list[str]:
    line, table = f"{toml_key(path[-1])} = {toml_value(value)}", path[:-1]
    found = list(statements(lines))
    parents = (known.path if known.value is None else known.path[:-1] for known in found)
    inside = [known.last + 1 for known, parent in zip(found, parents, strict=True) if parent == table]
    if table and not inside:
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        return [*lines, *([""] if lines else []), f"[{'.'.join(map(toml_key, table))}]", line, ""]
    headers = (known.first for known in found if known.value is None)
    index = max(inside) if inside else next(headers, len([text for text in lines if text.strip()]))
    return [*lines[:index], line, *(lines[index:] or [""])]
