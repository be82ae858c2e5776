"""Reading TOML files that people write: whatever is wrong is told with its file, its line and a way out."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.json_values import JsonValue

_T = TypeVar("_T")

_MOST_BYTES = 2_000_000
_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\[\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?P<name>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def read_table(path: Path) -> Table:
    """The table that a TOML file holds.

    Raises StorageError, with the line where there is one, for a file that cannot be read or is no TOML.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise StorageError(
                f"{path.name} is too large", f"More than {_MOST_BYTES:,} bytes.", path=str(path)
            )
        raw = path.read_bytes()
    except OSError as error:
        raise StorageError(
            f"{path.name} cannot be read", error.strerror or str(error), path=str(path)
        ) from None
    return parse_table(raw, path)


def parse_table(raw: bytes, path: Path) -> Table:
    """The table that the bytes of a TOML file hold; `path` is only named in errors.

    Raises StorageError, with the line where there is one, for bytes that are no TOML.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise StorageError(
            f"{path.name} is not UTF-8",
            f"A byte in line {line} belongs to no character.",
            "Save the file as UTF-8.",
            path=str(path),
            line=line,
        ) from None
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise _syntax_error(text, path, str(error)) from None
    return Table(path, _Lines.of(text), values)


def _syntax_error(text: str, path: Path, why: str) -> StorageError:
    found = _AT_LINE.search(why)
    line = int(found[1]) if found else text.count("\n") + 1
    return StorageError(
        f"{path.name}, line {line}: not valid TOML",
        one_line(_AT_LINE.sub("", why), 120),
        'Texts need quotes: name = "value".',
        path=str(path),
        line=line,
    )


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where the keys of a TOML text stand."""

    by_key: Mapping[tuple[str, ...], int]

    @staticmethod
    def of(text: str) -> _Lines:
        found: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        closing = ""
        for number, line in enumerate(text.split("\n"), 1):
            if closing:
                if closing in line:
                    closing = ""
                continue
            if header := _HEADER.match(line):
                table = _parts(header["name"])
                found.setdefault(table, number)
            elif key := _KEY.match(line):
                found.setdefault((*table, *_parts(key["name"])), number)
            closing = next((quote for quote in ('"""', "'''") if line.count(quote) % 2), "")
        return _Lines(found)

    def line_of(self, key: tuple[str, ...]) -> int | None:
        """The line of a key, else of the nearest table around it."""
        while key:
            if line := self.by_key.get(key):
                return line
            line = min((at for one, at in self.by_key.items() if one[: len(key)] == key), default=None)
            if line is not None:
                return line
            key = key[:-1]
        return None


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


@dataclass(slots=True)
class Table:
    """A table of a file whose keys are taken one by one; what is wrong is collected, never raised.

    A key of another type than asked for counts as absent. `close` adds the keys that nobody asked for.
    """

    path: Path
    _lines: _Lines
    _values: Mapping[str, object]
    _at: tuple[str, ...] = ()
    problems: list[StorageError] = field(default_factory=list)
    """Everything wrong so far, in this table and those within."""
    _asked: set[str] = field(default_factory=set)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def names(self) -> list[str]:
        """The keys that the file holds, in its order."""
        return list(self._values)

    def complain(self, name: str, why: str, hint: str = "") -> None:
        """Collect a problem with a key; `why` goes on from the key's name."""
        key = (*self._at, name) if name else self._at
        line = self._lines.line_of(key)
        where = f"{self.path.name}, line {line}" if line else self.path.name
        label = one_line(".".join(key), 60)
        self.problems.append(
            StorageError(
                f"{where}: {label} {why}".rstrip(), "", hint, path=str(self.path), line=line, key=label
            )
        )

    def _take(self, name: str, default: _T, wanted: str, accept: Callable[[object], _T | None]) -> _T:
        self._asked.add(name)
        if name not in self._values:
            return default
        taken = accept(self._values[name])
        if taken is None:
            # The value is not repeated: it may be what should not be shown.
            self.complain(name, f"must be {wanted}")
            return default
        return taken

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        return self._take(name, default, "a text in quotes", _text)

    def word(self, name: str, allowed: Iterable[str], default: str = "") -> str:
        """A text out of a few."""
        allowed = tuple(allowed)
        return self._take(
            name,
            default,
            f"one of {', '.join(allowed)}",
            lambda value: value if isinstance(value, str) and value in allowed else None,
        )

    def switch(self, name: str, default: bool) -> bool:
        """True or false."""
        return self._take(
            name, default, "true or false", lambda value: value if isinstance(value, bool) else None
        )

    def optional_switch(self, name: str) -> bool | None:
        """True or false; None where the file says nothing."""
        self._asked.add(name)
        return self.switch(name, False) if name in self._values else None

    def number(self, name: str, default: float, low: float = -math.inf) -> float:
        """A finite number, at least `low`."""
        wanted = "a number" if low == -math.inf else f"a number, at least {low:g}"
        return self._take(name, default, wanted, lambda value: _number(value, low))

    def integer(self, name: str, default: int, low: int) -> int:
        """A whole number, at least `low`."""
        return self._take(
            name,
            default,
            f"a whole number, at least {low}",
            lambda value: (
                value if isinstance(value, int) and not isinstance(value, bool) and value >= low else None
            ),
        )

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return self._take(name, (), "a list of texts", _texts)

    def range(self, name: str) -> tuple[float, float] | None:
        """A pair of numbers, the lower one first."""
        return self._take(name, None, "two numbers, [lowest, highest]", _pair)

    def text_map(self, name: str) -> dict[str, str]:
        """A table of texts; an empty text is left out."""
        inner = self.table(name)
        return {key: text for key in inner.names if (text := inner.text(key))} if inner is not None else {}

    def json(self, name: str) -> JsonValue:
        """Whatever the file holds there, as JSON; None where there is nothing. Dates become texts."""
        self._asked.add(name)
        return _json(self._values.get(name))

    def table(self, name: str) -> Table | None:
        """A table within; its problems are collected here."""
        self._asked.add(name)
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.complain(name, f"must be a table: [{name}]")
            return None
        return Table(self.path, self._lines, value, (*self._at, name), self.problems)

    def close(self) -> None:
        """Collect the keys that nobody asked for, each with the nearest that exists."""
        for name in self._values:
            if name not in self._asked:
                near = get_close_matches(name, self._asked, 1, 0.5)
                hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(self._asked))}."
                self.complain(name, "is no known key", hint)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    texts = tuple(one for one in value if isinstance(one, str))
    return texts if len(texts) == len(value) else None


def _number(value: object, low: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value if value >= low else None


def _pair(value: object) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    low, high = (_number(one, -math.inf) for one in value)
    return (low, high) if low is not None and high is not None and low <= high else None


def _json(value: object) -> JsonValue:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_json(one) for one in value]
    return str(value)
