"""Parse, check, step and format parameter values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue, parse_json
from workbench.domain.parameter_table import Field, Kind, ParameterValue, Range

_ON = {"on", "true", "yes", "1"}
_OFF = {"off", "false", "no", "0"}

_MOST_DIGITS = 18
"""Maximum digits of a count; Python refuses to parse thousands of digits."""


def parse_value(field: Field, text: str) -> ParameterValue:
    """Parse a value typed by the user.

    `stop` is a JSON list of strings or one plain text (with escapes such as `\\n` and `\\t`), `logit_bias` a
    JSON object or `ID=BIAS` pairs separated by whitespace or commas.

    Raises BadValueError if the text is not a value of the field's type; the range is not checked.
    """
    stripped = text.strip()
    match field.kind:
        case Kind.INTEGER | Kind.NUMBER:
            is_whole = field.kind is Kind.INTEGER
            try:
                number = int(stripped) if is_whole else float(stripped)
            except ValueError:
                what = "whole number" if is_whole else "number"
                raise _bad(field, f"{stripped[:40]!r} is not a {what}") from None
            if not _is_finite(number):
                raise _bad(field, "the number is too large" if is_whole else f"{stripped!r} is not finite")
            return number
        case Kind.SWITCH:
            if stripped.lower() in _ON:
                return True
            if stripped.lower() in _OFF:
                return False
            raise _bad(field, f"{stripped!r} is neither on nor off")
        case Kind.TEXTS:
            return _parse_texts(field, text)
        case Kind.BIASES:
            return _parse_biases(field, stripped)
        case _:
            return text


def value_from_json(field: Field, value: JsonValue) -> ParameterValue:
    """Convert a JSON or TOML value; a single `stop` text becomes a tuple.

    Raises BadValueError for a value of the wrong type (`true` is not a number, `1.5` is not an integer).
    """
    match field.kind:
        case Kind.INTEGER if isinstance(value, int) and _is_finite(value):
            return value
        case Kind.NUMBER if isinstance(value, (int, float)) and _is_finite(value):
            return value
        case Kind.SWITCH if isinstance(value, bool):
            return value
        case Kind.TEXTS if isinstance(value, str):
            return (value,)
        case Kind.TEXTS if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
            return tuple(text for text in value if isinstance(text, str))
        case Kind.BIASES if isinstance(value, Mapping) and all(map(_is_finite, value.values())):
            return MappingProxyType(
                {key: bias for key, bias in value.items() if isinstance(bias, (int, float))}
            )
        case Kind.TEXT | Kind.PROMPT if isinstance(value, str):
            return value
    raise _bad(field, f"{json.dumps(value, default=str)[:80]} is not {_wanted(field)}")


def check_value(field: Field, value: ParameterValue, limits: Mapping[str, Range] | None = None) -> str | None:
    """Return the problem with a value of the right type, in one line, or None.

    `limits` holds an endpoint's ranges by field name; they replace those of the API contract.
    """
    allowed = (limits or {}).get(field.name, field.range)
    match value:
        case bool() | str():
            return None
        case int() | float():
            if allowed is not None and value not in allowed:
                return f"{field.name} must be {allowed} (got {format_value(value)})"
        case tuple():
            if field.most is not None and len(value) > field.most:
                return f"{field.name} takes at most {field.most} strings (got {len(value)})"
            if any(not entry for entry in value):
                return f"{field.name} must not hold an empty text"
        case _:
            for key, bias in value.items():
                if not key.isascii() or not key.isdigit():
                    return f"{field.name}: {key!r} is not a token id"
                if allowed is not None and bias not in allowed:
                    return f"{field.name}: the bias of {key} must be {allowed} (got {format_value(bias)})"
    return None


def step_value(
    field: Field, value: ParameterValue | None, steps: int, limits: Mapping[str, Range]
) -> ParameterValue:
    """Step a value up or down within its range; an unset field gets its `start` value.

    Raises BadValueError if the field is neither a number nor a switch.
    """
    if field.kind is Kind.SWITCH:
        return not value if value is not None else bool(field.start)
    if not field.is_number:
        raise _bad(field, "has no steps; edit it instead")
    if value is None:
        return field.start if field.start is not None else 0
    if not isinstance(value, (int, float)):
        raise _bad(field, f"{value!r} is not a number")
    allowed = limits.get(field.name, field.range)
    moved = value + steps * field.step
    moved = int(moved) if field.kind is Kind.INTEGER else round(moved, 6)
    if allowed is None or moved in allowed:
        return moved
    if moved > allowed.high:
        return type(moved)(allowed.high)
    lowest = allowed.low + field.step if allowed.low_open else allowed.low
    return type(moved)(min(lowest, value) if allowed.low_open else lowest)


def whole_number(text: str) -> int | None:
    """Parse up to 18 ASCII digits; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def value_or_unset(value: ParameterValue | None) -> str:
    """Format a value for display; `unset` if it is."""
    return "unset" if value is None else format_value(value)


def format_value(value: ParameterValue | None) -> str:
    """Format a value for display, such that `parse_value` accepts it; `—` if unset."""
    match value:
        case None:
            return "—"
        case bool():
            return "on" if value else "off"
        case int():
            return str(value)
        case float():
            return f"{value:.6g}" if float(f"{value:.6g}") == value else repr(value)
        case str():
            return value
        case tuple():
            return json.dumps(list(value), ensure_ascii=False)
        case _:
            return " ".join(f"{key}={format_value(bias)}" for key, bias in value.items())


def _parse_texts(field: Field, text: str) -> tuple[str, ...]:
    if text.lstrip().startswith("["):
        try:
            value = parse_json(text)
        except ValueError:
            value = text
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return tuple(value)
    if not text:
        return ()
    try:
        escaped = json.loads(f'"{text}"', strict=False)
    except ValueError:
        escaped = text
    return (escaped,)


def _parse_biases(field: Field, text: str) -> Mapping[str, float]:
    if text.startswith("{"):
        try:
            value = parse_json(text)
        except ValueError as error:
            raise _bad(field, f"is not a JSON object: {error}") from None
        checked = value_from_json(field, value)
        assert isinstance(checked, Mapping)
        return checked
    biases: dict[str, float] = {}
    for pair in text.replace(",", " ").split():
        key, equals, bias = pair.rpartition("=")
        try:
            number = float(bias) if equals and key else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise _bad(field, f"{pair!r} is not ID=BIAS")
        biases[key] = int(number) if number.is_integer() else number
    return MappingProxyType(biases)


def _is_finite(value: JsonValue) -> bool:
    """Whether a value is a number that a float can hold."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _wanted(field: Field) -> str:
    return {
        Kind.INTEGER: "a whole number",
        Kind.NUMBER: "a finite number",
        Kind.SWITCH: "true or false",
        Kind.TEXTS: "a string or a list of strings",
        Kind.BIASES: "an object of token id to bias",
    }.get(field.kind, "a string")


def _bad(field: Field, why: str) -> BadValueError:
    known = f"{field.name}: {field.range}" if field.range else f"{field.name}: {_wanted(field)}"
    return BadValueError(f"{field.name}: {why}", hint=f"Allowed: {known}.", field=field.name)


def value_to_json(value: ParameterValue) -> JsonValue:
    """Convert a value to JSON."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value
