"""Convert token columns to TOML values and back: each column is a single string.

A string is parsed many times faster than an array; an array of texts is accepted too.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isfinite, isnan, nan

import msgspec

from workbench.domain.choice import Columns
from workbench.domain.json_values import parse_json

MOST_SECONDS = 1e9
"""The largest valid time in seconds."""

_decode_texts = msgspec.json.Decoder(list[str]).decode
_decode_floats = msgspec.json.Decoder(list[float | None]).decode
_decode_integers = msgspec.json.Decoder(list[int]).decode


def columns_to_table(columns: Columns) -> dict[str, str | list[str]]:
    """Return the columns by their names in a file, without empty ones; `at` is rounded to microseconds."""
    has_logprobs, has_alternatives = not all(map(isnan, columns.logprobs)), bool(columns.alternative_texts)
    table: dict[str, str | list[str]] = {
        "text": columns.texts,
        "logprob": " ".join(map(repr, columns.logprobs)) if has_logprobs else "",
        "at": " ".join([f"{when:.6f}".rstrip("0").rstrip(".") for when in columns.at]),
        "id": " ".join(map(str, columns.ids)),
        "bytes": _raws_to_text(columns.raws),
        "alternatives": _counts_to_text(columns.alternative_counts) if has_alternatives else "",
        "alternative_text": columns.alternative_texts,
        "alternative_logprob": " ".join(map(repr, columns.alternative_logprobs)),
        "alternative_id": " ".join(map(str, columns.alternative_ids)),
        "alternative_bytes": _raws_to_text(columns.alternative_raws),
    }
    return {name: column for name, column in table.items() if column}


def are_times(seconds: Sequence[float]) -> bool:
    """Whether all numbers are valid as seconds since the request."""
    return isfinite(sum(seconds)) and min(seconds, default=0) >= 0 and max(seconds, default=0) <= MOST_SECONDS


def columns_from_table(table: Mapping[str, object]) -> Columns:
    """Parse the columns in a file's table. Raises ValueError if one is invalid."""
    texts, alternative_texts = _texts(table, "text"), _texts(table, "alternative_text")
    count, alternatives = len(texts), len(alternative_texts)
    at = _floats(table, "at", count, 0.0)
    if not are_times(at):
        raise ValueError("at has a time that no answer takes")
    return Columns(
        texts,
        _floats(table, "logprob", count, nan),
        at,
        _integers(table, "id"),
        _raws(table, "bytes"),
        _counts(_column(table, "alternatives").split(), count),
        alternative_texts,
        _floats(table, "alternative_logprob", alternatives, nan),
        _integers(table, "alternative_id"),
        _raws(table, "alternative_bytes"),
    )


def _texts(table: Mapping[str, object], name: str) -> list[str]:
    value = table.get(name, [])
    if isinstance(value, str):
        try:
            return _decode_texts(value)
        except msgspec.DecodeError:
            # The decoder rejects lone surrogates, which are valid here.
            value = parse_json(value)
    if not isinstance(value, list) or not set(map(type, value)) <= {str}:
        raise ValueError(f"{name} is not a list of texts")
    return value


def _column(table: Mapping[str, object], name: str) -> str:
    value = table.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a column of numbers in a text")
    return value


def _floats(table: Mapping[str, object], name: str, count: int, missing: float) -> array[float]:
    column = _column(table, name)
    if not column.strip():
        return array("d", [missing] * count)
    try:
        numbers = _decode_floats(_as_json(column.replace("nan", "null")))
    except msgspec.DecodeError:
        # Infinities, and other notations written by hand.
        return array("d", map(float, column.split()))
    return array("d", [nan if number is None else number for number in numbers])


def _integers(table: Mapping[str, object], name: str) -> array[int]:
    column = _column(table, name)
    try:
        return array("q", _decode_integers(_as_json(column)))
    except msgspec.DecodeError:
        return array("q", map(int, column.split()))


def _as_json(column: str) -> str:
    """Return the numbers as a JSON array, which is parsed many times faster than by split and conversion."""
    return f"[{column.replace(' ', ',')}]"


def _counts_to_text(counts: array[int]) -> str:
    groups = ((count, len(list(same))) for count, same in groupby(counts))
    return " ".join(str(count) if times == 1 else f"{count}x{times}" for count, times in groups)


def _counts(groups: list[str], tokens: int) -> array[int]:
    counts = array("I")
    for group in groups:
        count, _, times = group.partition("x")
        repeated = int(times or 1)
        if repeated > tokens:
            raise ValueError("alternatives counts more tokens than there are")
        counts.extend([int(count)] * repeated)
    return counts if groups else array("I", [0] * tokens)


def _raws_to_text(raws: Mapping[int, bytes]) -> str:
    return " ".join(f"{index}:{raw.hex()}" for index, raw in raws.items())


def _raws(table: Mapping[str, object], name: str) -> dict[int, bytes]:
    pairs = (word.partition(":") for word in _column(table, name).split())
    return {int(index): bytes.fromhex(raw) for index, _, raw in pairs}
