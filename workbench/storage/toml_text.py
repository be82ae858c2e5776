"""TOML as the program writes it: arrays on one line, texts with their line breaks, nothing inlined twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, time

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
