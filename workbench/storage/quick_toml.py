"""Reading TOML, also session files, whose long token columns the parser need not look through.

The parser is tomli: it is tomllib compiled, three times as fast, and bounds how deeply keys and values nest.
"""

from __future__ import annotations

import re
import uuid
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import tomli

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
            if end - at > _LONG and (place := _literal_at(text, at, end)) is not None:
                start, stop = place
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
