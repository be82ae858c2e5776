"""The list of presets, to choose one or manage the person's own."""

from __future__ import annotations

from workbench.domain.display import one_line
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.storage.files import Folders
from workbench.storage.presets import (
    delete_preset,
    duplicate_preset,
    export_preset,
    import_preset,
    load_presets,
    rename_preset,
)
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import commands_of, key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.question import LinePopup, typed_path


def changes_of(preset: Preset, parameters: Parameters) -> str:
    """Describe in one line what a preset would change of the parameters, model and endpoint."""
    changes = [str(change) for change in parameters.changes_to(preset.applied_to(parameters))]
    changes += ["extra differs"] * (preset.applied_to(parameters).extra != parameters.extra)
    where = [f"{preset.model} @ {preset.endpoint}".strip(" @")] if preset.model or preset.endpoint else []
    return " · ".join([*(changes or ["same as current settings"]), *where])


class PresetPicker(Picker):
    """Lists the presets; returns the name of the one to apply, or None."""

    BINDINGS = bindings_at(Where.PRESETS)
    where = Where.PRESETS

    def __init__(self, folders: Folders, current: Parameters, chosen: str = "") -> None:
        """`current` are the parameters that a preset would change; `chosen` is the name to highlight."""
        self._folders = folders
        self._current = current
        own = [command for command in commands_of(self.app) if command.where is Where.PRESETS]
        note = " · ".join(["Enter", *(f"{command.footer_key} {command.title.lower()}" for command in own)])
        super().__init__("Apply a preset", self._listed(), chosen=chosen, note=note)

    def _listed(self) -> list[Item]:
        presets = load_presets(self._folders).presets.values()
        return [Item(preset.name, preset.name, changes_of(preset, self._current)) for preset in presets]

    @asks
    async def action_rename(self, flow: FlowContext) -> None:
        """Rename one of the person's presets."""
        if (name := self._own()) is not None:
            new = await flow.ask(LinePopup(f"Rename {one_line(name, 40)} to", name))
            if new is not None:
                preset = rename_preset(self._folders, name, new)
                self._replaced(flow, name, preset)
                self._show_changed(preset.name)

    @asks
    async def action_duplicate(self, flow: FlowContext) -> None:
        """Copy the preset, which may be built in, to a new one of the person's."""
        if (name := self.highlighted) is not None:
            self._show_changed(duplicate_preset(self._folders, name).name)

    @asks
    async def action_delete(self, flow: FlowContext) -> None:
        """Delete one of the person's presets, after a question."""
        if (name := self._own()) is None:
            return
        question = f"Delete the preset {one_line(name, 40)}?"
        if await flow.confirmed(question, "delete", "keep it"):
            delete_preset(self._folders, name)
            self._replaced(flow, name, load_presets(self._folders).presets.get(name))
            self._show_changed(name)

    @asks
    async def action_import(self, flow: FlowContext) -> None:
        """Import a preset from a file."""
        if (typed := await flow.ask(LinePopup("Import a preset from the file", ""))) is not None:
            self._show_changed(import_preset(self._folders, typed_path(typed)).name)

    @asks
    async def action_export(self, flow: FlowContext) -> None:
        """Write the preset to a file; an existing file is replaced only after a question."""
        if (name := self.highlighted) is None:
            return
        preset = load_presets(self._folders).named(name)
        proposed = f"{name.replace('/', '-')}.toml"
        path = await flow.ask_file(f"Export {one_line(name, 40)} to the file", proposed)
        if path is not None:
            export_preset(preset, path)
            self.notify(f"Wrote {one_line(str(path), 80)}.", timeout=3)

    def _own(self) -> str | None:
        """Return the highlighted preset's name if it is the person's; else show a warning and return None."""
        name, loaded = self.highlighted, load_presets(self._folders)
        if name is None or loaded.named(name).name in loaded.files:
            return name
        key = key_of(self.app, "duplicate_preset")
        message = f"{one_line(name, 40)} is built in. Duplicate it with {key} and change the copy."
        self.notify(message, title="Preset", severity="warning")
        return None

    def _replaced(self, flow: FlowContext, name: str, preset: Preset | None) -> None:
        """Use `preset` in the draft instead of a renamed or deleted one; warn if config.toml names that."""
        flow.workspace.drafting.preset_replaced(name, preset)
        if name == flow.services.config.preset and (preset is None or preset.name != name):
            flow.warn(f"config.toml still names {one_line(name, 40)}: change its preset there.", "Preset")

    def _show_changed(self, name: str) -> None:
        """Reload the presets and highlight one of them."""
        self.replace_items(self._listed(), name)
