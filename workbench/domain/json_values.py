"""JSON values: their type, for everything that passes through unread, and reading them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NoReturn, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""Any JSON value. Lists and objects are read-only by type; nobody changes one in place."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A JSON object."""


_DEEPEST = 100
"""Levels of lists and objects within each other; what walks through a value calls itself for each."""


def parse_json(text: str | bytes, *, is_strict: bool = False) -> JsonValue:
    """The value of a JSON text; a strict one has no NaN or Infinity.

    Raises ValueError where it is not JSON, is nested too deeply, or has a number that is too long.
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=_refused if is_strict else None)
        check_depth(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def check_depth(value: object) -> None:
    """Raise RecursionError for a value whose lists and objects are nested too deeply to be written again."""
    level: list[Iterable[object]] = [[value]]
    for _ in range(_DEEPEST):
        level = [
            inner.values() if isinstance(inner, dict) else inner
            for inner in chain.from_iterable(level)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return
    raise RecursionError


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def holds_null(value: JsonValue) -> bool:
    """Whether there is a null anywhere in a value; TOML has none."""
    if isinstance(value, Mapping):
        return any(map(holds_null, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_null, value))
    return value is None
