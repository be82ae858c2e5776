"""The last row of the main screen: the keys that matter now."""

from __future__ import annotations

from textual.message import Message
from textual.reactive import reactive

from workbench.tui.commands.command import Command, Where
from workbench.tui.commands.keymap import commands_of
from workbench.tui.commands.table import commands_at
from workbench.tui.popups.key_row import KeyRow, by_rank


class Footer(KeyRow):
    """Run or stop, help and commands at every width; then the focused pane's keys, then all others."""

    ALWAYS = 3

    class KeyClicked(Message):
        """A command was clicked."""

        def __init__(self, id: str) -> None:
            super().__init__()
            self.id = id

    is_scored_twice: reactive[bool] = reactive(False)
    """Whether an answer has another model's scoring, whose differences keys go to."""

    def __init__(self) -> None:
        super().__init__(Where.PROMPT)

    def listed(self) -> list[Command]:
        """The commands to show, first the one to keep longest."""
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
        """Tell which command was clicked, or press the key that only its pane knows."""
        if command.needs_pane:
            super().press(command)
        else:
            self.post_message(self.KeyClicked(command.id))
