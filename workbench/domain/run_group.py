"""Groups of runs sent together: comparisons, sweeps and prompt sets."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from enum import StrEnum

from workbench.domain.display import one_line, plural
from workbench.domain.parameter_table import PARAMETERS, ParameterValue
from workbench.domain.parameter_values import value_or_unset
from workbench.domain.prompt import Prompt
from workbench.domain.run import Outcome, Run

_FEW = 4
"""The most values or names listed in a description."""


class GroupKind(StrEnum):
    """The kind of a group of runs."""

    COMPARISON = "comparison"
    """One prompt under several presets, endpoints or models."""
    SWEEP = "sweep"
    """One prompt under several values of some parameters."""
    PROMPT_SET = "prompt set"
    """Several prompts, each under the same settings."""


class RunGroup:
    """The runs of a group, in the session's order, and what varies among them."""

    __slots__ = ("_failed", "_names", "_prompts", "_seen", "_values", "id", "runs")

    def __init__(self, id: str, runs: Iterable[Run] = ()) -> None:
        """`id` is the `group` of the runs."""
        self.id = id
        self.runs: list[Run] = []
        self._prompts: dict[Prompt, None] = {}
        self._names: dict[tuple[str, str, str], None] = {}
        self._values: dict[str, list[ParameterValue | None]] = {field.name: [] for field in PARAMETERS}
        """The distinct values of each parameter, sorted."""
        self._seen: set[tuple[str, str]] = set()
        self._failed = 0
        for run in runs:
            self.add(run)

    def add(self, run: Run) -> None:
        """Add a run that has ended."""
        self.runs.append(run)
        self._prompts[run.request.prompt] = None
        self._names[run.preset, run.endpoint, run.request.model] = None
        self._failed += run.outcome is Outcome.ERROR
        for name, values in self._values.items():
            value = run.request.parameters.get(name)
            if (seen := (name, value_or_unset(value))) not in self._seen:
                self._seen.add(seen)
                insort(values, value, key=_order)

    @property
    def prompts(self) -> list[Prompt]:
        """The distinct prompts, in order of first appearance."""
        return list(self._prompts)

    @property
    def varied(self) -> dict[str, Sequence[ParameterValue | None]]:
        """The sorted values of each varying parameter; the seed only if nothing else varies."""
        found: dict[str, Sequence[ParameterValue | None]]
        found = {name: values for name, values in self._values.items() if len(values) > 1}
        if len(found) > 1:
            found.pop("seed", None)
        return found

    def settings_of(self, run: Run) -> str:
        """Return a sweep run's varied parameters (`temperature 0.5 top_p 1`); empty for other kinds."""
        if self.kind is not GroupKind.SWEEP:
            return ""
        return " ".join(f"{name} {_format(run.request.parameters.get(name))}" for name in self.varied)

    @property
    def kind(self) -> GroupKind:
        """The kind of group, derived from its runs."""
        if len(self._prompts) > 1:
            return GroupKind.PROMPT_SET
        is_single = len(self._names) == 1 and not next(iter(self._names))[0]
        return GroupKind.SWEEP if is_single and self.varied else GroupKind.COMPARISON

    @property
    def about(self) -> str:
        """A one-line description: `sweep of temperature 0, 0.5, 1 × top_p 0.5, 1`."""
        match self.kind:
            case GroupKind.SWEEP:
                axes = (f"{name} {_values(values)}" for name, values in self.varied.items())
                return f"sweep of {' × '.join(axes)}"
            case GroupKind.PROMPT_SET:
                return f"{plural(len(self._prompts), 'prompt')} × {self._settings}"
            case GroupKind.COMPARISON:
                return f"comparison of {self._settings}"

    @property
    def _settings(self) -> str:
        columns = zip(*self._names, strict=True)
        presets, endpoints, models = (list(dict.fromkeys(column)) for column in columns)
        names = [one_line(preset, 24) or "current settings" for preset in presets]
        if len(endpoints) > 1:
            return f"{_listed(names)} @ {_listed([one_line(endpoint, 24) for endpoint in endpoints])}"
        if len(models) > 1:
            return f"{_listed(names)} with {_listed([one_line(model, 24) or 'no model' for model in models])}"
        return _listed(names)

    @property
    def summary(self) -> str:
        """The number of runs, the local start time of the first, and the number of failed ones."""
        parts = [plural(len(self.runs), "run"), f"{self.runs[0].started.astimezone():%d %b %H:%M}"]
        parts += [f"{self._failed:,} failed"] if self._failed else []
        return " · ".join(parts)


def groups_of(runs: Iterable[Run]) -> dict[str, RunGroup]:
    """Group a session's runs by group id; groups of a single run are omitted."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        if run.group:
            members.setdefault(run.group, []).append(run)
    return {id: RunGroup(id, found) for id, found in members.items() if len(found) > 1}


def _order(value: ParameterValue | None) -> tuple[bool, float, str]:
    """Sort unset values first, then by number, then by text."""
    is_number = isinstance(value, int | float)
    return value is not None, value if isinstance(value, int | float) else 0, "" if is_number else str(value)


def _values(values: Sequence[ParameterValue | None]) -> str:
    if len(values) > _FEW:
        return f"{_format(values[0])} to {_format(values[-1])} ({len(values)} values)"
    return ", ".join(map(_format, values))


def _format(value: ParameterValue | None) -> str:
    return one_line(value_or_unset(value), 20)


def _listed(names: list[str]) -> str:
    left = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {left} more" if left > 0 else "")
