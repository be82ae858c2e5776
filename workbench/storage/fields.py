"""Reading the tables of a file that a program wrote: every key taken once, the rest kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

_T = TypeVar("_T")


class BadField(ValueError):
    """A key holds another type of value than it should."""


class Fields:
    """A table whose known keys are taken out one by one; what is left over is unknown and must survive."""

    def __init__(self, table: object, where: str) -> None:
        """`where` names the table in messages. Raises BadField where it is no table."""
        if not isinstance(table, Mapping):
            raise BadField(f"{where} is no table")
        self._left: dict[str, object] = dict(table)
        self._where = where

    def _take(self, name: str, kind: type[_T], default: _T) -> _T:
        value = self._left.pop(name, default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadField(f"{self._where}: {name} is a {type(value).__name__}, not a {kind.__name__}")
        return value

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def text(self, name: str) -> str:
        """A text; empty where absent."""
        return self._take(name, str, "")

    def integer(self, name: str) -> int:
        """A whole number; 0 where absent."""
        return self._take(name, int, 0)

    def optional_integer(self, name: str) -> int | None:
        """A whole number, or None where absent."""
        return self.integer(name) if name in self._left else None

    def optional_switch(self, name: str) -> bool | None:
        """True or false, or None where absent."""
        return self._take(name, bool, False) if name in self._left else None

    def optional_number(self, name: str) -> float | None:
        """A number, or None where absent."""
        value = self._left.pop(name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise BadField(f"{self._where}: {name} is no number")
        return value

    def time(self, name: str) -> datetime:
        """A moment; one without a zone is UTC, and an absent one the beginning of 1970."""
        value = self._take(name, datetime, datetime.fromtimestamp(0, UTC))
        return value if value.tzinfo else value.replace(tzinfo=UTC)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty where absent."""
        value = self._take(name, list, [])
        if not all(isinstance(one, str) for one in value):
            raise BadField(f"{self._where}: {name} is no list of texts")
        return tuple(value)

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers; empty where absent."""
        value = self._take(name, list, [])
        if not all(type(one) is int for one in value):
            raise BadField(f"{self._where}: {name} is no list of whole numbers")
        return tuple(value)

    def table(self, name: str) -> Fields:
        """The table in a key; an empty one where absent."""
        return Fields(self._left.pop(name, {}), f"{self._where}: {name}")

    def tables(self, name: str) -> list[Fields]:
        """The tables in a list; empty where absent."""
        tables = self._take(name, list, [])
        return [Fields(one, f"{self._where}: {name} {place}") for place, one in enumerate(tables, 1)]

    def rest(self) -> dict[str, object]:
        """Every key that was not taken."""
        return self._left
