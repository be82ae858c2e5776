"""The type of JSON values, and a parser with a depth limit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import isinf
from typing import NoReturn, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""Any JSON value. Lists and objects are typed read-only and must not be modified."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A JSON object."""


_DEEPEST = 100
"""Maximum nesting of lists and objects; functions that walk a value recurse once per level."""


def parse_json(text: str | bytes, *, is_strict: bool = False) -> JsonValue:
    """Parse a JSON text; if strict, NaN, Infinity and numbers that overflow to it are errors.

    Raises ValueError if the text is not JSON, is nested too deeply, or has a number that is too long.
    """
    try:
        value: JsonValue = (
            json.loads(text, parse_constant=_refused, parse_float=_finite) if is_strict else json.loads(text)
        )
        check_depth(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def check_depth(value: object) -> None:
    """Raise RecursionError if lists and objects are nested too deeply to be written again."""
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


def _finite(number: str) -> float:
    if isinf(value := float(number)):
        raise ValueError(f"{number} is too large")
    return value


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def holds_null(value: JsonValue) -> bool:
    """Whether a value contains null, which TOML cannot represent."""
    if isinstance(value, Mapping):
        return any(map(holds_null, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_null, value))
    return value is None
