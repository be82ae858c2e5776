"""Write TOML with one-line arrays and multi-line strings, and parse it fast."""

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

_BARE = r"[A-Za-z0-9_-]+"
_SURROGATES = "[\ud800-\udfff]"


def sound(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return text if text.isascii() else re.sub(_SURROGATES, "\ufffd", text)


def toml_string(text: str) -> str:
    """Return a text as a TOML string, multi-line if it has line breaks."""
    if "\n" in text:
        return '"""\n' + "\n".join(_escape(line) for line in text.split("\n")) + '"""'
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    # json is fast, and its escapes are valid TOML; only DEL must be escaped in addition.
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def toml_column(column: str | list[str]) -> str:
    """Return a column as a literal string, whose end the parser finds without checking each character.

    Texts become a JSON array, which is parsed ten times faster than a TOML array.
    """
    if isinstance(column, str):
        return f"'{column}'"
    written = json.dumps(column, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "'''" + (written.replace("'", "\\u0027") if "''" in written else written) + "'''"


def toml_value(value: object) -> str:
    """Return a value as TOML, for the right of `=`. Raises TypeError for types that TOML does not have."""
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
    """Return a key, quoted if necessary."""
    return key if re.fullmatch(_BARE, key) else f'"{_escape(key)}"'


def toml_table(table: Mapping[str, object], name: str = "") -> Iterator[str]:
    """Yield the lines of a table: its own values first, then its inner tables with their headers."""
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
"""Minimum characters of a column that is cut out before parsing."""
_CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n")
"""Bytes that TOML forbids, and CR; texts with CR line ends are left to tomli."""


_LONG_NUMBER = re.compile(r"0[xob][0-9A-Fa-f_]{3500}")
"""A hexadecimal, octal or binary integer that Python may parse but refuse to format in decimal."""


def parse(text: str) -> dict[str, Any]:
    """Parse a TOML text. Raises tomli.TOMLDecodeError, with the line, for anything that cannot be parsed."""
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
        # Raises ValueError now rather than when the number is shown.
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
    """Return the offset of the line at which the parser reaches a limit."""
    ends = [*(found.end() for found in re.finditer("\n", text)), len(text)]
    line = bisect_left(ends, True, key=lambda end: _reaches_limit(text[:end]))
    return ends[line - 1] if line else 0


def loads(raw: bytes) -> dict[str, object]:
    """Parse bytes like `parse`, but many times faster if they contain long token columns.

    A leading byte order mark is skipped. Raises UnicodeDecodeError or tomli.TOMLDecodeError.
    """
    text = raw.decode().removeprefix("\ufeff")
    if len(text) > _LONG and len(raw.translate(None, _CONTROLS)) == len(raw):
        short, columns = _cut(text)
        if columns and (document := _put_back(short, columns)) is not None:
            return document
    return parse(text)


def _cut(text: str) -> tuple[str, dict[str, str]]:
    """Replace each long column by a placeholder; return the text and the columns by placeholder."""
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
    """Return start and end of a literal string that is all that follows `=` on a line, or None."""
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
    """Parse the text and restore the columns; None if it is invalid or a column was part of a string."""
    try:
        document = parse(short)
    except tomli.TOMLDecodeError:
        # The caller parses the whole text, for an error with the right line.
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
    """Return the tables in a value that should be an array of tables."""
    return [table for table in value if isinstance(table, dict)] if isinstance(value, list) else []
