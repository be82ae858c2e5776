"""The type of JSON values, for everything that passes through unread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""Any JSON value. Lists and objects are read-only by type; nobody changes one in place."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""A JSON object."""


def holds_null(value: JsonValue) -> bool:
    """Whether there is a null anywhere in a value; TOML has none."""
    if isinstance(value, Mapping):
        return any(map(holds_null, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_null, value))
    return value is None
