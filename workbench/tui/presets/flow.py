"""Apply a preset, or save the panel's parameters as one."""

from __future__ import annotations

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.storage.presets import load_presets, save_preset
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.presets.preset_picker import PresetPicker


async def choose_preset(flow: FlowContext) -> None:
    """Choose a preset and apply it; the list shows what each would change."""
    folders, preset = flow.services.folders, flow.workspace.drafting.preset
    for problem in load_presets(folders).problems:
        flow.warn(str(problem), "Preset")
    name = preset.name if preset is not None else ""
    chosen = await flow.ask(PresetPicker(folders, flow.workspace.drafting.requested_parameters, name))
    if chosen is not None:
        flow.workspace.drafting.apply_preset(load_presets(folders).named(chosen))


async def save_panel(flow: FlowContext) -> None:
    """Save the panel's parameters as a preset; an existing one is replaced only after a question."""
    drafting = flow.workspace.drafting
    base = drafting.preset or Preset("", Parameters())
    preset = Preset(base.name, drafting.requested_parameters, note=base.note)
    presets = load_presets(flow.services.folders).presets
    items = [
        Item(existing.name, existing.name, existing.difference(preset.parameters) or "the same")
        for existing in presets.values()
    ]
    name = await flow.ask(Picker("Save settings as preset", items, chosen=preset.name, free_text=True))
    if name is None:
        return
    if (old := presets.get(name)) is not None:
        changes = one_line(old.difference(preset.parameters) or "nothing changes")
        question = f"Replace the preset {one_line(name, 40)}?\n{changes}"
        if not await flow.confirmed(question, "replace", "cancel"):
            return
    saved = preset._replace(name=name if old is not None else name.strip())
    try:
        save_preset(flow.services.folders, saved)
    except StorageError as problem:
        flow.fail(problem, "Preset")
        return
    flow.app.notify(f"Saved the preset {one_line(saved.name, 40)}.", timeout=3)
    drafting.saved_as(saved)
