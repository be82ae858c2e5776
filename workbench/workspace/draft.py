"""What becomes of a draft: pure functions from one to the next."""

from __future__ import annotations

from dataclasses import replace

from workbench.domain.display import one_line
from workbench.domain.parameters import FIRST_DRAFT
from workbench.domain.preset import Preset
from workbench.domain.prompt import (
    PromptKind,
    TextsPrompt,
    prompt_from_editor,
    prompt_to_editor,
    single_prompts,
)
from workbench.domain.request import Parameters
from workbench.domain.session import Draft

_LABEL = 60
"""Characters of a change's name."""


def with_preset(draft: Draft, preset: Preset) -> Draft:
    """A draft under a preset, with the preset's own endpoint and model if it has them."""
    place = preset.endpoint or draft.endpoint
    model = preset.model or (draft.model if place == draft.endpoint else "")
    parameters = preset.applied_to(draft.parameters)
    return replace(draft, endpoint=place, model=model, preset=preset.name, parameters=parameters)


def preset_of(preset: Preset | None, parameters: Parameters) -> str:
    """The name of the draft's preset where parameters are what it makes of them, else empty."""
    return preset.name if preset is not None and preset.applied_to(parameters) == parameters else ""


def as_kind(text: str, kind: PromptKind, wanted: PromptKind) -> str:
    """A prompt's text for another kind: that of one prompt of texts is written again, all else stays.

    Raises BadValueError where it is not a prompt of its own kind.
    """
    if kind is PromptKind.TEXT and wanted is PromptKind.TEXTS:
        return prompt_to_editor(TextsPrompt((text,)))
    if kind is PromptKind.TEXTS and wanted is PromptKind.TEXT:
        texts = single_prompts(prompt_from_editor(kind, text))
        if len(texts) == 1:
            return prompt_to_editor(texts[0])
    return text


def difference(before: Draft, after: Draft, width: int = _LABEL) -> str:
    """What differs between two drafts but for their prompts, on one line of at most `width` cells."""
    parts = [f"the prompt as {after.kind}"] * (before.kind is not after.kind)
    parts += [f"preset {after.preset or 'none'}"] * (before.preset != after.preset)
    parts += [str(change) for change in before.parameters.changes_to(after.parameters)]
    parts += ["extra"] * (before.parameters.extra != after.parameters.extra)
    parts += [f"endpoint {after.endpoint}"] * (before.endpoint != after.endpoint)
    parts += [f"model {after.model or 'the endpoint’s own'}"] * (before.model != after.model)
    return one_line(" · ".join(parts), width)


EXAMPLE = "The lighthouse keeper opened the door and"
"""The prompt of the very first draft, to which the recorded demo is an answer."""


def first_draft(preset: Preset | None, prompt: str = "") -> Draft:
    """What a session begins with, under the preset that is configured."""
    draft = Draft(prompt=prompt, parameters=Parameters(FIRST_DRAFT))
    return draft if preset is None else with_preset(draft, preset)
