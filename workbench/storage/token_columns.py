"""Token columns as a file holds them: each one a single string.

A column kept as one string opens many times faster than an array; an array of texts is understood too.
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
"""More than any answer takes."""

_decode_texts = msgspec.json.Decoder(list[str]).decode
_decode_floats = msgspec.json.Decoder(list[float | None]).decode
_decode_integers = msgspec.json.Decoder(list[int]).decode


def columns_to_table(columns: Columns) -> dict[str, str | list[str]]:
    """The columns under their names in a file; what no token has is left out. `at` has microseconds."""
    table: dict[str, str | list[str]] = {"text": columns.texts}
    if not all(map(isnan, columns.logprobs)):
        table["logprob"] = " ".join(map(repr, columns.logprobs))
    table["at"] = " ".join([f"{when:.6f}".rstrip("0").rstrip(".") for when in columns.at])
    if columns.ids:
        table["id"] = " ".join(map(str, columns.ids))
    if columns.raws:
        table["bytes"] = _raws_to_text(columns.raws)
    if columns.alternative_texts:
        table["alternatives"] = _counts_to_text(columns.alternative_counts)
        table["alternative_text"] = columns.alternative_texts
        table["alternative_logprob"] = " ".join(map(repr, columns.alternative_logprobs))
    if columns.alternative_ids:
        table["alternative_id"] = " ".join(map(str, columns.alternative_ids))
    if columns.alternative_raws:
        table["alternative_bytes"] = _raws_to_text(columns.alternative_raws)
    return table


def are_times(seconds: Sequence[float]) -> bool:
    """Whether all of some numbers may be seconds since a request."""
    return isfinite(sum(seconds)) and min(seconds, default=0) >= 0 and max(seconds, default=0) <= MOST_SECONDS


def columns_from_table(table: Mapping[str, object]) -> Columns:
    """The columns in a file's table. Raises ValueError where one is not a column of its kind."""
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
            # Half a surrogate pair is text here, but not to the decoder.
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
        # Infinities, and what a person wrote otherwise.
        return array("d", map(float, column.split()))
    return array("d", [nan if number is None else number for number in numbers])


def _integers(table: Mapping[str, object], name: str) -> array[int]:
    column = _column(table, name)
    try:
        return array("q", _decode_integers(_as_json(column)))
    except msgspec.DecodeError:
        return array("q", map(int, column.split()))


def _as_json(column: str) -> str:
    """Numbers as a JSON array, which is read many times faster than a text is split and converted."""
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
