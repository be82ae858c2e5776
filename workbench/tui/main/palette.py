"""The command palette: commands, parameters, presets and sessions by name."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from functools import partial
from pathlib import Path

from workbench.domain.errors import StorageError
from workbench.domain.parameters import PARAMETERS
from workbench.storage.presets import load_presets
from workbench.storage.sessions_folder import Library
from workbench.tui.commands.keymap import CommandTable
from workbench.tui.popups.picker import Item, Late, Picker
from workbench.workspace.services import Services

_NOTE = "type to filter · Enter run · Esc close"
_NEWEST = 50
"""Sessions that are offered."""


class ItemKind(StrEnum):
    """What an item of the palette is about, besides commands."""

    FIELD = "field"
    SETTING = "setting"
    PRESET = "preset"
    SESSION = "session"

    def value_of(self, name: str) -> str:
        """The value of the item of that name."""
        return f"{self}:{name}"


class PalettePicker(Picker):
    """Answers with a command's id, or with a kind and a name divided by a colon."""

    def matching(self, typed: str) -> list[Item]:
        """The items that match; a parameter with a value is to be set to it."""
        name, _, value = typed.strip().partition(" ")
        items = super().matching(typed)
        value = value.strip().removeprefix("=").strip()
        if value and name in {field.name for field in PARAMETERS}:
            setting = f"{name} {value}"
            items.insert(0, Item(ItemKind.SETTING.value_of(setting), setting, "Set the parameter."))
        return items


def palette(commands: CommandTable, services: Services) -> PalettePicker:
    """Every command by name, with its first key and one line of description; then what else has a name."""
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
        # The list of sessions says what is wrong with them.
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
