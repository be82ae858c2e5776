"""TOML as text: written with arrays on one line and texts with their line breaks, and read fast."""

from __future__ import annotations

import json
import re
import uuid
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import Any

import tomli

from workbench.domain.json_values import check_depth

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


def sound(text: str) -> str:
    """Text with lone surrogates, which no UTF-8 file can hold, as U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def toml_string(text: str) -> str:
    """A text as a TOML string; one with line breaks keeps them visible."""
    if "\n" in text:
        return '"""\n' + "\n".join(_escape(line) for line in text.split("\n")) + '"""'
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    # JSON's escapes are all TOML's, and C writes them; DEL is the one character that only TOML forbids.
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def toml_texts(texts: list[str]) -> str:
    """Many texts as a JSON array in one literal string, which opens ten times faster than a TOML array."""
    written = json.dumps(texts, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "'''" + (written.replace("'", "\\u0027") if "''" in written else written) + "'''"


def toml_column(column: str | list[str]) -> str:
    """A token column; a literal string, whose end tomllib finds without looking at each character."""
    return f"'{column}'" if isinstance(column, str) else toml_texts(column)


def toml_value(value: object) -> str:
    """A value as TOML writes it on the right of `=`. Raises TypeError for what TOML cannot hold."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return toml_string(value)
        case date() | time():
            return value.isoformat()
        case Mapping():
            return "{ " + ", ".join(f"{toml_key(k)} = {_inline(v)}" for k, v in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_inline, value)) + "]"
    raise TypeError(f"TOML cannot hold {type(value).__name__}")


def _inline(value: object) -> str:
    return f'"{_escape(value)}"' if isinstance(value, str) else toml_value(value)


def toml_key(key: str) -> str:
    """A key, quoted where it must be."""
    return key if _BARE.fullmatch(key) else f'"{_escape(key)}"'


def toml_table(table: Mapping[str, object], name: str = "") -> Iterator[str]:
    """The lines of a table, its own values first and the tables in it after them, each under its header."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    for key, value in table.items():
        if key not in inner:
            yield f"{toml_key(key)} = {toml_value(value)}\n"
    for key, value in inner.items():
        path = f"{name}.{toml_key(key)}" if name else toml_key(key)
        yield f"\n[{path}]\n"
        yield from toml_table(value, path)


_TABLE = "\n[[runs.tokens]]\n"
_LONG = 200
"""Characters from which a column is worth taking out."""
_CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n")
"""What no TOML may hold as it is, but for line ends with a carriage return, which are left to tomli."""


_LONG_NUMBER = re.compile(r"0[xob][0-9A-Fa-f_]{3500}")
"""What may be an integer that Python reads, and refuses to write in decimal digits."""


def parse(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises tomli.TOMLDecodeError for whatever cannot be read, with its line."""
    try:
        return _parse(text)
    except tomli.TOMLDecodeError:
        raise
    except RecursionError:
        why = "Keys or values are nested too deeply"
    except ValueError:
        why = "A number has too many digits"
    raise tomli.TOMLDecodeError(why, text, _line_at_limit(text))


def _parse(text: str) -> dict[str, Any]:
    table = tomli.loads(text)
    check_depth(table)
    if _LONG_NUMBER.search(text):
        # Whoever shows the number would fail.
        repr(table)
    return table


def _reaches_limit(text: str) -> bool:
    try:
        _parse(text)
    except tomli.TOMLDecodeError:
        return False
    except (ValueError, RecursionError):
        return True
    return False


def _line_at_limit(text: str) -> int:
    """Where the line begins at which the parser reaches one of its limits."""
    ends = [*(found.end() for found in re.finditer("\n", text)), len(text)]
    line = bisect_left(ends, True, key=lambda end: _reaches_limit(text[:end]))
    return ends[line - 1] if line else 0


def loads(raw: bytes) -> dict[str, object]:
    """What `parse` makes of some bytes, many times faster where they hold long token columns.

    A byte order mark at the beginning is left out.

    Raises UnicodeDecodeError or tomli.TOMLDecodeError.
    """
    text = raw.decode("utf-8-sig")
    if len(text) > _LONG and len(raw.translate(None, _CONTROLS)) == len(raw):
        short, columns = _cut(text)
        if columns and (document := _put_back(short, columns)) is not None:
            return document
    return parse(text)


def _cut(text: str) -> tuple[str, dict[str, str]]:
    """The text with a name in place of each long column, and the columns by name."""
    mark = uuid.uuid4().hex
    kept: list[str] = []
    columns: dict[str, str] = {}
    done = 0
    table = text.find(_TABLE)
    while table != -1:
        at = table + len(_TABLE)
        while text[at : at + 1] not in ("", "\n", "["):
            end = text.find("\n", at)
            end = len(text) if end == -1 else end
            if end - at > _LONG and (literal := _literal_at(text, at, end)) is not None:
                start, stop = literal
                name = f"{mark}{len(columns)}"
                columns[name] = text[start:stop]
                kept += (text[done:start], name)
                done = stop
            at = end + 1
        table = text.find(_TABLE, at - 1)
    kept.append(text[done:])
    return "".join(kept), columns


def _literal_at(text: str, at: int, end: int) -> tuple[int, int] | None:
    """Where the text of a literal string stands that is all that follows `=` on a line; else None."""
    start = text.find("=", at, end) + 1
    if not start:
        return None
    start += text[start : start + 1] == " "
    quote = "'''" if text.startswith("'''", start) else "'"
    first, last = start + len(quote), end - len(quote)
    if last < first or not text.startswith(quote, start) or text.find(quote, first, end) != last:
        return None
    return first, last


def _put_back(short: str, columns: Mapping[str, str]) -> dict[str, object] | None:
    """The document with its columns; None where it is none, or a column was but a part of a text."""
    try:
        document = parse(short)
    except tomli.TOMLDecodeError:
        # The error is to be that of the whole text.
        return None
    found = 0
    for run in tables_in(document.get("runs")):
        for tokens in tables_in(run.get("tokens")):
            for name, value in tokens.items():
                if isinstance(value, str) and value in columns:
                    tokens[name] = columns[value]
                    found += 1
    return document if found == len(columns) else None


def tables_in(value: object) -> list[dict[str, object]]:
    """The tables in a value that should be an array of them."""
    return [table for table in value if isinstance(table, dict)] if isinstance(value, list) else []
