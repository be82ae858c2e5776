"""What a preset would change of the panel."""

from __future__ import annotations

from workbench.domain.preset import Preset
from workbench.domain.request import Parameters


def changes_of(preset: Preset, parameters: Parameters) -> str:
    """What a preset would change of the parameters, on one line, and what it is good for."""
    changes = [str(change) for change in parameters.changes_to(preset.applied_to(parameters))]
    changes += ["extra differs"] * (preset.applied_to(parameters).extra != parameters.extra)
    where = [f"{preset.model} @ {preset.endpoint}".strip(" @")] if preset.model or preset.endpoint else []
    return " · ".join([*(changes or ["same as current settings"]), *where])
