"""Sweeps: one or two parameters, varied over lists or ranges of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod

from workbench.domain.errors import BadValueError
from workbench.domain.parameter_table import FIELDS, PARAMETERS, Kind, ParameterValue
from workbench.domain.parameter_values import check_value, parse_value
from workbench.domain.request import Request
from workbench.domain.split import reseeded

_MOST_VALUES = 1000


@dataclass(frozen=True, slots=True)
class Axis:
    """A field and the values to try."""

    field: str
    values: tuple[ParameterValue, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the axes' values, and the number of its repeat."""

    values: tuple[ParameterValue, ...]
    """One value per axis."""
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """A request varied along one or two axes, with each cell repeated."""

    request: Request
    axes: tuple[Axis, ...]
    repeats: int = 1

    def cells(self) -> Iterator[Cell]:
        """Yield all cells, varying the last axis fastest."""
        for values in product(*(axis.values for axis in self.axes)):
            for repeat in range(self.repeats):
                yield Cell(values, repeat)

    def request_for(self, cell: Cell) -> Request:
        """Return the request of a cell; a set seed increases by 1 per repeat."""
        values = {axis.field: value for axis, value in zip(self.axes, cell.values, strict=True)}
        parameters = self.request.parameters.set_all(values)
        return Request(self.request.prompt, self.request.model, reseeded(parameters, cell.repeat))

    @property
    def size(self) -> int:
        """The number of requests."""
        return self.repeats * prod(len(axis.values) for axis in self.axes)


def parse_axis(text: str) -> Axis:
    """Parse an axis: `temperature=0:1.5:0.25` (ends included) or `top_p=0.5,1`.

    Raises BadValueError for an unknown field, a malformed list, or a value out of range.
    """
    name, equals, listed = text.partition("=")
    name = name.strip().replace("-", "_")
    field = FIELDS.get(name)
    if field is None or field not in PARAMETERS or not equals:
        known = ", ".join(parameter.name for parameter in PARAMETERS if parameter.is_number)
        raise BadValueError(f"{text!r} is not FIELD=VALUES", hint=f"Fields: {known}.", field=name)
    if field.kind not in (Kind.INTEGER, Kind.NUMBER, Kind.SWITCH):
        raise BadValueError(f"{name} cannot be varied", hint="Vary a number.", field=name)
    texts = _range(name, listed) if ":" in listed else [text.strip() for text in listed.split(",")]
    values = tuple(parse_value(field, text) for text in texts)
    for value in values:
        if why := check_value(field, value):
            raise BadValueError(why, hint=field.help, field=name)
    return Axis(name, values)


def _range(name: str, text: str) -> list[str]:
    try:
        low, high, step = (Decimal(part) for part in text.split(":"))
    except (ValueError, InvalidOperation):
        raise BadValueError(f"{name}: {text!r} is not LOW:HIGH:STEP", field=name) from None
    if not (low.is_finite() and high.is_finite() and step.is_finite()) or step <= 0 or high < low:
        raise BadValueError(f"{name}: {text!r} needs LOW ≤ HIGH and a STEP above 0", field=name)
    # Compared by multiplication, because the quotient may overflow.
    if high - low >= step * _MOST_VALUES:
        raise BadValueError(f"{name}: {text!r} makes more than {_MOST_VALUES} values", field=name)
    count = int((high - low) / step) + 1
    return [f"{(low + step * index).normalize():f}" for index in range(count)]
