"""Changing single values of a TOML file that a person wrote: comments, order and everything else stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tomli_w

_HEADER = re.compile(r"\s*\[(?P<name>[^\[\]#]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?P<name>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class NotEditable(ValueError):
    """The file spells a value in a way that cannot be changed without touching the rest."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """`key = value`, which may go over several lines."""

    path: tuple[str, ...]
    """The names of its tables and its own."""
    first: int
    last: int
    """Its lines, counted from 0."""
    value: object


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """A TOML text with one value set, or left out where it is None; `path` is a key, or a table and a key.

    Values are texts, numbers, switches and lists of them. Raises NotEditable where the result would not be
    the same file but for that value.
    """
    wanted = _changed(tomllib.loads(text), path, value)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    edited = "\n".join(_edited(lines, tuple(path), value))
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    raise NotEditable(".".join(path))


def _changed(table: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, object]:
    copy = dict(table)
    name, *rest = path
    if rest:
        inner = copy.get(name, {})
        if not isinstance(inner, Mapping):
            raise NotEditable(".".join(path))
        copy[name] = _changed(inner, rest, value)
        if not copy[name]:
            del copy[name]
    elif value is None:
        copy.pop(name, None)
    else:
        copy[name] = value
    return copy


def _edited(lines: list[str], path: tuple[str, ...], value: object) -> list[str]:
    statements = list(_statements(lines))
    for one in statements:
        if one.path == path:
            return _replaced(lines, one, value)
        if one.path == path[:-1] and isinstance(one.value, Mapping):
            return _replaced(lines, one, _changed(one.value, path[-1:], value) or None)
    return lines if value is None else _added(lines, statements, path, value)


def _statements(lines: list[str]) -> Iterator[_Statement]:
    table: tuple[str, ...] = ()
    number = 0
    while number < len(lines):
        line = lines[number]
        if header := _HEADER.match(line):
            table = _parts(header["name"])
        elif key := _KEY.match(line):
            last, value = _value_at(lines, number)
            yield _Statement((*table, *_parts(key["name"])), number, last, value)
            number = last
        number += 1


def _value_at(lines: list[str], first: int) -> tuple[int, object]:
    """The last line of a statement, and its value."""
    for last in range(first, len(lines)):
        try:
            value: object = tomllib.loads("\n".join(lines[first : last + 1]))
        except tomllib.TOMLDecodeError:
            continue
        for _ in _parts(_name(lines[first])):
            assert isinstance(value, Mapping)
            value = next(iter(value.values()))
        return last, value
    raise NotEditable(_name(lines[first]))


def _name(line: str) -> str:
    key = _KEY.match(line)
    return key["name"] if key else ""


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


def _replaced(lines: list[str], one: _Statement, value: object) -> list[str]:
    before, after = lines[: one.first], lines[one.last + 1 :]
    if value is None:
        return _without_empty_table([*before, *after], one.path[:-1])
    start = lines[one.first].partition("=")[0].rstrip()
    return [*before, f"{start} = {_spelled(value)}{_comment(lines[one.first : one.last + 1])}", *after]


def _comment(lines: list[str]) -> str:
    """The comment behind a value, with the blanks before it."""
    last, whole = lines[-1], "\n".join(lines)
    value = tomllib.loads(whole)
    for found in re.finditer(r"\s*#", last):
        try:
            if tomllib.loads("\n".join([*lines[:-1], last[: found.start()]])) == value:
                return last[found.start() :]
        except tomllib.TOMLDecodeError:
            continue
    return ""


def _without_empty_table(lines: list[str], table: tuple[str, ...]) -> list[str]:
    """The lines without the header of a table that holds nothing any more."""
    header = _header_of(lines, table)
    if header is None or any(one.path[: len(table)] == table for one in _statements(lines)):
        return lines
    return [*lines[:header], *lines[header + 1 :]]


def _header_of(lines: list[str], table: tuple[str, ...]) -> int | None:
    if not table:
        return None
    found = ((number, _HEADER.match(line)) for number, line in enumerate(lines))
    return next((number for number, match in found if match and _parts(match["name"]) == table), None)


def _added(lines: list[str], statements: list[_Statement], path: tuple[str, ...], value: object) -> list[str]:
    line = f"{_key(path[-1])} = {_spelled(value)}"
    table = path[:-1]
    beside = [one.last for one in statements if one.path[:-1] == table]
    header = _header_of(lines, table)
    if beside and (header is not None or not table):
        at = max(beside) + 1
    elif table and header is None:
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        return [*lines, *([""] if lines else []), f"[{'.'.join(map(_key, table))}]", line, ""]
    elif header is not None:
        at = header + 1
    else:
        tables = (number for number, one in enumerate(lines) if _HEADER.match(one))
        at = next(tables, len([one for one in lines if one.strip()]))
    return [*lines[:at], line, *(lines[at:] or [""])]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _spelled(name)


def _spelled(value: object) -> str:
    match value:
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_spelled(one)}" for key, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_spelled, value)) + "]"
    return tomli_w.dumps({"a": value}).removeprefix("a = ").rstrip("\n")
