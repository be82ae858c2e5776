"""Parameters: the sampling fields of a request, and what differs between two sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.parameter_table import FIELDS, PARAMETERS, ParameterValue, Range
from workbench.domain.parameter_values import check_value, value_from_json, value_or_unset, value_to_json

_HASHABLE = (str, int, float, tuple)


class Change(NamedTuple):
    """A field that differs between two sets of parameters; None means unset."""

    name: str
    before: ParameterValue | None
    after: ParameterValue | None

    def __str__(self) -> str:
        before, after = map(value_or_unset, self[1:])
        return f"{self.name} {before} → {after}"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The fields set by the user, and extra JSON; an absent field is unset."""

    values: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Set fields by API name, never None."""
    extra: JsonObject = field(default_factory=dict)
    """Additional JSON for the body, merged last."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        if type(self.extra) is not MappingProxyType:
            object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))

    def __hash__(self) -> int:
        # Mappings are not hashable; parameters rarely differ in them alone, so collisions are rare.
        return hash(frozenset([item for item in self.values.items() if isinstance(item[1], _HASHABLE)]))

    def get(self, name: str) -> ParameterValue | None:
        """Return a field's value, or None if unset."""
        return self.values.get(name)

    def sent(self, name: str) -> ParameterValue | None:
        """Return the value to send: the field's value, else its `always` value, else None."""
        return self.values.get(name, FIELDS[name].always)

    @property
    def echoes(self) -> bool:
        """Whether the response should repeat the prompt before the completion (`echo`)."""
        return self.extra.get("echo") is True

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens per choice, which is always sent."""
        return int(self.number("max_tokens", 0))

    def number(self, name: str, default: float) -> float:
        """Return a number field's sent value, or the default."""
        value = self.sent(name)
        return value if isinstance(value, (int, float)) else default

    def set(self, name: str, value: ParameterValue | None) -> Parameters:
        """Return a copy with a field set; None, an empty list or an empty mapping unsets it."""
        return self.set_all({name: value})

    def set_all(self, changes: Mapping[str, ParameterValue | None]) -> Parameters:
        """Return a copy with several fields set or unset, as by `set`."""
        values = {key: old for key, old in self.values.items() if key not in changes}
        for name, value in changes.items():
            if value is not None and value not in ((), {}):
                values[name] = value
        return Parameters(values, self.extra)

    def changes_to(self, other: Parameters) -> tuple[Change, ...]:
        """Return the fields that differ in `other`, in the order of `PARAMETERS`."""
        if self.values == other.values:
            return ()
        return tuple(
            Change(parameter.name, self.get(parameter.name), other.get(parameter.name))
            for parameter in PARAMETERS
            if self.get(parameter.name) != other.get(parameter.name)
        )

    def problems(self, limits: Mapping[str, Range] | None = None) -> Iterator[BadValueError]:
        """Yield an error for each value that is out of range or conflicts with another."""
        for name, value in self.values.items():
            if why := check_value(FIELDS[name], value, limits):
                yield BadValueError(why, hint=FIELDS[name].help, field=name)
        best_of, n = self.number("best_of", 0), self.number("n", 1)
        if best_of and best_of < n:
            yield BadValueError(
                f"best_of must be at least n, {n:g} (got {best_of:g})",
                hint=FIELDS["best_of"].help,
                field="best_of",
            )

    @property
    def streams(self) -> bool:
        """Whether the response is streamed: `stream` is on, and `best_of` is at most 1."""
        return self.sent("stream") is True and self.number("best_of", 1) <= 1

    def to_json(self) -> dict[str, JsonValue]:
        """Return the set fields as a JSON or TOML table by API name, without `extra`."""
        return {name: value_to_json(value) for name, value in self.values.items()}

    @staticmethod
    def from_json(table: JsonObject, extra: JsonObject = MappingProxyType({})) -> Parameters:
        """Create parameters from a table by API name.

        Raises BadValueError for an unknown field or a value of the wrong type.
        """
        known = {parameter.name: parameter for parameter in PARAMETERS}
        values: dict[str, ParameterValue] = {}
        for name, value in table.items():
            if name not in known:
                raise BadValueError(
                    f"{name}: no such parameter", hint=f"Known: {', '.join(known)}.", field=name
                )
            taken = value_from_json(known[name], value)
            if taken not in ((), {}):
                values[name] = taken
        return Parameters(values, extra)
