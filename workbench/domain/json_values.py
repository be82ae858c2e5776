"""JSON values: their type, for everything that passes through unread, and reading them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""Any JSON value. Lists and objects are read-only by type; nobody changes one in place."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A JSON object."""


def parse_json(text: str | bytes, *, is_strict: bool = False) -> JsonValue:
    """The value of a JSON text; a strict one has no NaN or Infinity.

    Raises ValueError where it is not JSON, is nested too deeply, or has a number that is too long.
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=_refused if is_strict else None)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def holds_null(value: JsonValue) -> bool:
    """Whether there is a null anywhere in a value; TOML has none."""
    if isinstance(value, Mapping):
        return any(map(holds_null, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_null, value))
    return value is None
