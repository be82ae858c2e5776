"""The list of presets: choosing one, and putting one's own in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.preset import Preset
from workbench.domain.request import Parameters
from workbench.storage.folders import Folders
from workbench.storage.presets import (
    delete_preset,
    duplicate_preset,
    export_preset,
    import_preset,
    load_presets,
    rename_preset,
)
from workbench.tui.screens.naming import Naming
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.screens.presets import changes_of
from workbench.tui.screens.question import Question


class PresetPicker(Picker):
    """Answers with the name of the preset to apply, or None; presets are changed while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "rename", "Rename", show=False, priority=True),
        Binding("ctrl+d", "duplicate", "Duplicate", show=False, priority=True),
        Binding("ctrl+x", "delete", "Delete", show=False, priority=True),
        Binding("ctrl+o", "import", "Import", show=False, priority=True),
        Binding("ctrl+s", "export", "Export", show=False, priority=True),
    ]

    def __init__(self, folders: Folders, current: Parameters, chosen: str = "") -> None:
        """`current` is what each preset would change."""
        self._folders = folders
        self._current = current
        note = "Enter · ^R rename · ^D duplicate · ^X delete · ^O import · ^S export"
        super().__init__("Apply a preset", self._listed(), chosen=chosen, note=note)

    def _listed(self) -> list[Item]:
        presets = load_presets(self._folders).presets.values()
        return [Item(one.name, one.name, changes_of(one, self._current)) for one in presets]

    def action_rename(self) -> None:
        """Give a person's preset another name."""
        if (name := self._own()) is not None:
            self._ask_text(
                f"Rename {one_line(name, 40)} to",
                name,
                lambda new: rename_preset(self._folders, name, new).name,
            )

    def action_duplicate(self) -> None:
        """Copy the preset, also one of the program's, as one of the person's."""
        if (name := self.looked_at) is not None:
            self._change(lambda: duplicate_preset(self._folders, name).name)

    def action_delete(self) -> None:
        """Delete a person's preset, after a question."""
        if (name := self._own()) is None:
            return

        def delete() -> str:
            delete_preset(self._folders, name)
            return name

        question = Question(f"Delete the preset {one_line(name, 40)}?", "delete", "keep it")
        self.app.push_screen(question, lambda yes: self._change(delete) if yes else None)

    def action_import(self) -> None:
        """Take a preset from a file."""
        self._ask_text(
            "Import a preset from the file",
            "",
            lambda typed: import_preset(self._folders, Path(typed).expanduser()).name,
        )

    def action_export(self) -> None:
        """Write the preset to a file; one that is there is replaced only after a question."""
        name = self.looked_at
        if name is None:
            return
        preset = load_presets(self._folders).presets[name]

        def write(path: Path) -> str:
            export_preset(preset, path)
            self.notify(f"Wrote {one_line(str(path), 80)}.", markup=False, timeout=3)
            return name

        def named(typed: str | None) -> None:
            if typed is None:
                return
            path = Path(typed).expanduser()
            if not path.exists():
                self._change(lambda: write(path))
                return
            question = Question(f"Replace the file {one_line(str(path), 60)}?", "replace", "leave it")
            self.app.push_screen(question, lambda yes: self._change(lambda: write(path)) if yes else None)

        proposed = f"{name.replace('/', '-')}.toml"
        self.app.push_screen(Naming(f"Export {one_line(name, 40)} to the file", proposed), named)

    def _own(self) -> str | None:
        """The name of the preset looked at, where it is the person's; else that is said."""
        name = self.looked_at
        if name is None or name in load_presets(self._folders).files:
            return name
        told = f"{one_line(name, 40)} is the program's own. Duplicate it with Ctrl+D, and change the copy."
        self.notify(told, title="Preset", severity="warning", markup=False)
        return None

    def _ask_text(self, title: str, text: str, change: Callable[[str], str]) -> None:
        def typed(answer: str | None) -> None:
            if answer is not None:
                self._change(lambda: change(answer))

        self.app.push_screen(Naming(title, text), typed)

    def _change(self, change: Callable[[], str]) -> None:
        """Change the presets, and look at the one that `change` names; what goes wrong is said."""
        try:
            name = change()
        except StorageError as problem:
            self.notify(str(problem), title="Preset", severity="error", markup=False)
            return
        self.replace_items(self._listed(), name)


def choose_preset(
    app: App[int], folders: Folders, current: Parameters, name: str, take: Callable[[Preset], None]
) -> None:
    """Let a person choose the preset to apply; each shows what it would change."""
    for problem in load_presets(folders).problems:
        app.notify(str(problem), title="Preset", severity="warning", markup=False)

    def chosen(value: str | None) -> None:
        if value is not None and (preset := load_presets(folders).presets.get(value)) is not None:
            take(preset)

    app.push_screen(PresetPicker(folders, current, name), chosen)
