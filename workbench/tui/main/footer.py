"""The last row of the main screen: the most useful keys at the moment."""

from __future__ import annotations

from textual.message import Message
from textual.reactive import reactive

from workbench.tui.commands.command import Command, Where
from workbench.tui.commands.keymap import commands_of
from workbench.tui.commands.table import commands_at
from workbench.tui.popups.key_row import KeyRow, by_rank


class Footer(KeyRow):
    """Keys: always run or stop, help and commands; then those of the focused pane, then all others."""

    ALWAYS = 3

    class KeyClicked(Message):
        """A command was clicked."""

        def __init__(self, id: str) -> None:
            super().__init__()
            self.id = id

    is_scored_twice: reactive[bool] = reactive(False)
    """Whether an answer has a second model's scoring, whose differences have keys."""

    def __init__(self) -> None:
        super().__init__(Where.PROMPT)

    def listed(self) -> list[Command]:
        """Return the commands to show, the most important first."""
        table = commands_of(self.app)
        ranked = by_rank(table)
        first = table["stop" if self.running else "run"]
        main = (Where.ANYWHERE, Where.EVERYWHERE)
        everywhere = [
            command for command in ranked if command.where in main and command.id not in ("run", "stop")
        ]
        here = by_rank(commands_at(self.where, table)) if self.where not in main else []
        if not self.is_scored_twice:
            here = [command for command in here if command.id != "elsewhere"]
        return [first, *everywhere[:2], *here, *everywhere[2:]]

    def press(self, command: Command) -> None:
        """Request the clicked command; press its key if only the focused pane can run it."""
        if command.needs_pane:
            super().press(command)
        else:
            self.post_message(self.KeyClicked(command.id))
