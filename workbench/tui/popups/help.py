"""Help: the keys of the focused pane first, then all others under their headings; typing filters."""

from __future__ import annotations

from workbench.tui.commands.command import SHARED, Command, Where
from workbench.tui.commands.keymap import CommandTable
from workbench.tui.commands.table import commands_at
from workbench.tui.popups.picker import Item, Picker

_COMMON = (Where.ANYWHERE, Where.EVERYWHERE)


def help_screen(where: Where, commands: CommandTable) -> Picker:
    """Help for a pane or screen; choosing a command does it, where it can be done by name."""
    here = commands_at(where, commands) if where is not Where.ANYWHERE else ()
    common = (one for one in commands if one.where in _COMMON)
    ordered = dict.fromkeys((*here, *common, *sorted(commands, key=lambda one: one.where)))
    items = [Item(one.id, one.title, one.help, one.key_label, _heading(one, where)) for one in ordered]
    return Picker(f"Help · {where}", items, note="type to filter · Enter run · Esc close", wraps=True)


def _heading(command: Command, here: Where) -> str:
    if command.where in (here, *SHARED.get(here, ())):
        return here
    return Where.ANYWHERE if command.where in _COMMON else command.where
