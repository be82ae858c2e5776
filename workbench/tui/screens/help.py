"""Help: the keys of the focused pane first, then all others; typing filters."""

from __future__ import annotations

from workbench.tui.command_table import OWN_KEYS, CommandTable
from workbench.tui.commands import BY_ID, Command, Where
from workbench.tui.screens.popup import Item, Picker


def help_screen(where: Where, commands: CommandTable = OWN_KEYS) -> Picker:
    """Help for a pane; choosing a command does it, where it can be done by name."""
    ordered = [*(one for one in commands if one.where is where)] if where is not Where.ANYWHERE else []
    ordered += [one for one in commands if one.where is Where.ANYWHERE]
    ordered += [one for one in commands if one not in ordered]
    items = [Item(one.id, one.title, _help(one, where), one.key_label) for one in ordered]
    return Picker(f"Help · {where}", items, note="type to filter · Enter does it · Esc")


def palette_screen(commands: CommandTable) -> Picker:
    """Every command by name, with its first key and one line of description."""
    items = [Item(one.id, one.title, one.help, one.first_key) for one in commands if not one.is_own]
    return Picker("Commands", items, note="type to filter · Enter does it · Esc")


def can_be_done(id: str) -> bool:
    """Whether a command chosen by name can be done at once."""
    return id in BY_ID and not BY_ID[id].is_own


def _help(command: Command, here: Where) -> str:
    is_elsewhere = command.where not in (Where.ANYWHERE, here)
    return f"{command.where}: {command.help}" if is_elsewhere else command.help
