"""Help: the keys of the focused pane first, then all others; typing filters."""

from __future__ import annotations

from workbench.tui.commands.command import SHARED, Command, Where
from workbench.tui.commands.keymap import CommandTable
from workbench.tui.commands.table import commands_at
from workbench.tui.popups.picker import Item, Picker


def help_screen(where: Where, commands: CommandTable) -> Picker:
    """Help for a pane or screen; choosing a command does it, where it can be done by name."""
    ordered = dict.fromkeys(
        (
            *(commands_at(where, commands) if where is not Where.ANYWHERE else ()),
            *(one for one in commands if one.where in (Where.ANYWHERE, Where.EVERYWHERE)),
            *commands,
        )
    )
    items = [Item(one.id, one.title, _help(one, where), one.key_label) for one in ordered]
    return Picker(f"Help · {where}", items, note="type to filter · Enter runs it · Esc")


def _help(command: Command, here: Where) -> str:
    is_elsewhere = command.where not in (Where.ANYWHERE, Where.EVERYWHERE, here, *SHARED.get(here, ()))
    return f"{command.where}: {command.help}" if is_elsewhere else command.help
