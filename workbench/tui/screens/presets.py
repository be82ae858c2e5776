"""What a preset would change of the panel, and keeping the panel as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual.app import App

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.preset import Preset
from workbench.domain.request import Parameters
from workbench.storage.folders import Folders
from workbench.storage.presets import load_presets, save_preset
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.screens.question import Question


def changes_of(preset: Preset, parameters: Parameters) -> str:
    """What a preset would change of the parameters, on one line, and what it is good for."""
    changes = [str(change) for change in parameters.changes_to(preset.applied_to(parameters))]
    changes += ["extra differs"] * (preset.applied_to(parameters).extra != parameters.extra)
    where = [f"{preset.model} @ {preset.endpoint}".strip(" @")] if preset.model or preset.endpoint else []
    return " · ".join([*(changes or ["as the panel is"]), *where])


def save_panel(app: App[int], folders: Folders, preset: Preset, take: Callable[[Preset], None]) -> None:
    """Let a person name the panel's parameters and keep them as a preset of their own.

    The preset's own name is the one to begin with. One that is there already is replaced only after a
    question.
    """
    loaded = load_presets(folders)

    def save(name: str) -> None:
        kept = replace(preset, name=name)
        try:
            save_preset(folders, kept)
        except StorageError as problem:
            app.notify(str(problem), title="Preset", severity="error", markup=False)
            return
        app.notify(f"Saved the preset {one_line(name, 40)}.", markup=False, timeout=3)
        take(kept)

    def named(name: str | None) -> None:
        if name is None:
            return
        if (old := loaded.presets.get(name)) is None:
            save(name.strip())
            return
        changes = old.difference(preset.parameters) or "nothing changes"
        question = f"Replace the preset {one_line(name, 40)}?\n{one_line(changes)}"
        app.push_screen(Question(question, "replace", "leave it"), lambda yes: save(name) if yes else None)

    items = [
        Item(one.name, one.name, one.difference(preset.parameters) or "the same")
        for one in loaded.presets.values()
    ]
    app.push_screen(Picker("Save the panel as", items, chosen=preset.name, free_text=True), named)
