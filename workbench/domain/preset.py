"""Presets: named sets of parameters."""

from typing import NamedTuple

from workbench.domain.parameters import Parameters

KEPT_FIELDS = frozenset({"max_tokens", "seed", "stop", "logprobs", "n", "best_of", "stream", "include_usage"})
"""Fields that do not affect the distribution: a preset changes them only if it sets them."""


class Preset(NamedTuple):
    """A named set of parameters."""

    name: str
    parameters: Parameters = Parameters()
    endpoint: str = ""
    """Name of the intended endpoint; empty for the current one."""
    model: str = ""
    """The intended model; empty for the current one."""
    note: str = ""
    """A description."""

    def applied_to(self, parameters: Parameters) -> Parameters:
        """Return the parameters with this preset applied.

        Fields that affect the distribution are set or unset as in the preset; `KEPT_FIELDS` stay unless the
        preset sets them.
        """
        kept = {name: value for name, value in parameters.values.items() if name in KEPT_FIELDS}
        return Parameters({**kept, **self.parameters.values}, {**parameters.extra, **self.parameters.extra})

    def difference(self, parameters: Parameters) -> str:
        """Describe how other parameters differ, on one line; empty if they do not."""
        changes = [str(change) for change in self.parameters.changes_to(parameters)]
        if self.parameters.extra != parameters.extra:
            changes.append("extra differs")
        return " · ".join(changes)
