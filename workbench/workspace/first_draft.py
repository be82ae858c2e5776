"""The first draft of a session: its example prompt and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.domain.session import Draft
from workbench.workspace.drafting import with_preset

EXAMPLE = "The lighthouse keeper opened the door and"
"""Prompt of a new user's first draft; the recorded demo answers it."""
FIRST_DRAFT: Mapping[str, ParameterValue] = MappingProxyType({"max_tokens": 128, "logprobs": 5})
"""Parameters of the very first draft, so that tokens are coloured at once."""


def first_draft(preset: Preset | None, prompt: str = "") -> Draft:
    """Return the draft of a new session, with the configured preset applied."""
    draft = Draft(prompt=prompt, parameters=Parameters(FIRST_DRAFT))
    return draft if preset is None else with_preset(draft, preset)
