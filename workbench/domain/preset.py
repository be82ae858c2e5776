"""Presets: named sets of parameters."""

from __future__ import annotations

from typing import NamedTuple

from workbench.domain.request import Parameters

KEPT_FIELDS = frozenset({"max_tokens", "seed", "stop", "logprobs", "n", "best_of", "stream", "include_usage"})
"""Fields that do not shape the distribution: a preset changes them only where it sets them itself."""


class Preset(NamedTuple):
    """Parameters under a name, to be used again, compared and handed on."""

    name: str
    parameters: Parameters = Parameters()
    endpoint: str = ""
    """Name of the endpoint it is meant for; empty is whichever is in use."""
    model: str = ""
    """The model it is meant for; empty is whichever is in use."""
    note: str = ""
    """What it is good for."""

    def applied_to(self, parameters: Parameters) -> Parameters:
        """The parameters under this preset: how tokens are chosen becomes its own, set or unset.

        What does not shape the distribution (how long, which seed, what is reported) stays unless it is set
        here too.
        """
        kept = {name: value for name, value in parameters.values.items() if name in KEPT_FIELDS}
        return Parameters({**kept, **self.parameters.values}, {**parameters.extra, **self.parameters.extra})

    def difference(self, parameters: Parameters) -> str:
        """What other parameters change, on one line; empty where nothing differs."""
        changes = [str(change) for change in self.parameters.changes_to(parameters)]
        if self.parameters.extra != parameters.extra:
            changes.append("extra differs")
        return " · ".join(changes)
