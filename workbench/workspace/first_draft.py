"""What the very first session and each new one begin with: the example prompt, and the first parameters."""

from __future__ import annotations

from workbench.domain.parameters import FIRST_DRAFT
from workbench.domain.preset import Preset
from workbench.domain.request import Parameters
from workbench.domain.session import Draft
from workbench.workspace.draft import with_preset

EXAMPLE = "The lighthouse keeper opened the door and"
"""The prompt of the very first draft, to which the recorded demo is an answer."""


def first_draft(preset: Preset | None, prompt: str = "") -> Draft:
    """What a session begins with, under the preset that is configured."""
    draft = Draft(prompt=prompt, parameters=Parameters(FIRST_DRAFT))
    return draft if preset is None else with_preset(draft, preset)
