"""Presets: named sets of parameters."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.domain.request import Parameters


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters under a name, to be used again, compared and handed on."""

    name: str
    parameters: Parameters = field(default_factory=Parameters)
    endpoint: str = ""
    """Name of the endpoint it is meant for; empty is whichever is in use."""
    model: str = ""
    """The model it is meant for; empty is whichever is in use."""
    note: str = ""
    """What it is good for."""

    def difference(self, parameters: Parameters) -> str:
        """What other parameters change, on one line; empty where nothing differs."""
        changes = [str(change) for change in self.parameters.changes_to(parameters)]
        if self.parameters.extra != parameters.extra:
            changes.append("extra differs")
        return " · ".join(changes)
