"""The help: the keys of a pane or screen, and all commands."""

from __future__ import annotations

from workbench.tui.commands.command import SHARED, Command, Where
from workbench.tui.commands.keymap import CommandTable
from workbench.tui.commands.table import BY_ID, commands_at
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.popup import Popup
from workbench.tui.popups.result_screen import ResultScreen

_COMMON = (Where.ANYWHERE, Where.EVERYWHERE)


async def show_help(flow: FlowContext) -> None:
    """Show the keys of the focused pane or of the screen on top, and run the chosen command."""
    screen = flow.app.screen
    where = screen.where if isinstance(screen, ResultScreen | Popup) else flow.app.main.where
    id = await flow.ask(help_screen(where, flow.commands))
    if id is None:
        return
    command = BY_ID[id]
    if screen is flow.app.main and not command.needs_pane:
        flow.app.main.do(id)
    elif command.where is where and not command.is_fixed and len(command.keys) == 1:
        await flow.app.run_action(command.first_action, screen)


def help_screen(where: Where, commands: CommandTable) -> Picker:
    """Return a picker of the commands of a pane or screen, then of all others."""
    here = commands_at(where, commands) if where is not Where.ANYWHERE else ()
    common = (command for command in commands if command.where in _COMMON)
    ordered = dict.fromkeys((*here, *common, *sorted(commands, key=lambda command: command.where)))
    items = [
        Item(command.id, command.title, command.help, command.key_label, _heading(command, where))
        for command in ordered
    ]
    return Picker(f"Help · {where}", items, note="type to filter · Enter run · Esc close", wraps=True)


def _heading(command: Command, here: Where) -> str:
    if command.where in (here, *SHARED.get(here, ())):
        return here
    return Where.ANYWHERE if command.where in _COMMON else command.where
