"""The command palette: commands, parameters, presets and sessions by name."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from functools import partial
from pathlib import Path

from workbench.domain.errors import StorageError
from workbench.domain.parameter_table import PARAMETERS
from workbench.storage.presets import load_presets
from workbench.storage.sessions_folder import Library
from workbench.tui.commands.keymap import CommandTable
from workbench.tui.popups.picker import Item, Late, Picker
from workbench.workspace.services import Services

_NOTE = "type to filter · Enter run · Esc close"
_NEWEST = 50
"""The most sessions that are listed."""


class ItemKind(StrEnum):
    """The kinds of items in the palette besides commands."""

    FIELD = "field"
    SETTING = "setting"
    PRESET = "preset"
    SESSION = "session"

    def value_of(self, name: str) -> str:
        """Return the value of an item of this kind."""
        return f"{self}:{name}"


class PalettePicker(Picker):
    """A picker that returns a command's id, or a kind and a name separated by a colon."""

    def matching(self, typed: str) -> list[Item]:
        """Return the matching items; for a parameter with a value, first one that sets it."""
        name, _, value = typed.strip().partition(" ")
        items = super().matching(typed)
        value = value.strip().removeprefix("=").strip()
        if value and name in {field.name for field in PARAMETERS}:
            setting = f"{name} {value}"
            items.insert(0, Item(ItemKind.SETTING.value_of(setting), setting, "Set the parameter."))
        return items


def palette(commands: CommandTable, services: Services) -> PalettePicker:
    """Return a picker of all commands, parameters, presets and the newest sessions."""
    items = [
        Item(command.id, command.title, command.help, command.first_key)
        for command in commands
        if not command.needs_pane
    ]
    items += [
        Item(
            ItemKind.FIELD.value_of(field.name), field.name, f"parameter: {field.help} Add a value to set it."
        )
        for field in PARAMETERS
    ]
    items += [
        Item(ItemKind.PRESET.value_of(name), name, "preset: apply it.")
        for name in load_presets(services.folders).presets
    ]
    return PalettePicker("Commands", items, note=_NOTE, more=partial(_sessions, Library(services.folders)))


async def _sessions(library: Library) -> Late:
    try:
        listed = await asyncio.to_thread(library.sessions)
    except StorageError:
        # The session list shows the error.
        return Late([], _NOTE)
    return Late(
        [
            Item(
                ItemKind.SESSION.value_of(session.path),
                session.title or Path(session.path).stem,
                "session: open it.",
            )
            for session in listed[:_NEWEST]
            if not session.error
        ],
        _NOTE,
    )
