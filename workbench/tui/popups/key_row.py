"""The last row of a screen, which shows its keys and can be clicked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.tui.commands.command import Command, Where
from workbench.tui.commands.keymap import commands_of
from workbench.tui.commands.table import commands_at


class _Entry(NamedTuple):
    command: Command
    title: str
    start: int
    end: int


class KeyRow(Widget):
    """Shows the keys and titles of a screen's commands, as many as fit."""

    DEFAULT_CSS = "KeyRow { height: 1; background: $panel; color: $foreground; }"
    ALWAYS = 0
    """Number of entries at the beginning that are shown at every width."""

    where: reactive[Where] = reactive(Where.ANYWHERE)
    """The pane or screen whose keys are shown."""
    running: reactive[bool] = reactive(False)
    """Whether a request is running; if not, commands show their `at_rest` titles."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self.where = where

    def listed(self) -> Iterable[Command]:
        """Return the commands to show, the most important first."""
        table = commands_of(self.app)
        own = [command for command in commands_at(self.where, table) if command.where is not Where.TOKENS]
        keys = {key for command in own for key in command.keys}
        everywhere = [
            command
            for command in table
            if command.where is Where.EVERYWHERE and keys.isdisjoint(command.keys)
        ]
        return [*by_rank(own), *by_rank(everywhere)]

    def press(self, command: Command) -> None:
        """Run a command that was clicked by pressing its key; not if each of its keys does something else."""
        if not command.actions:
            self.app.simulate_key(command.keys[0])

    def _entries(self) -> list[_Entry]:
        shown: list[_Entry] = []
        at = 1
        for index, command in enumerate(self.listed()):
            is_at_rest = command.at_rest is not None and not self.running
            title = command.at_rest if is_at_rest else command.title
            if not title:
                continue
            end = at + cell_len(command.footer_key) + 1 + cell_len(title)
            if end > self.size.width and index >= self.ALWAYS:
                break
            shown.append(_Entry(command, title, at, end))
            at = end + 2
        return shown

    def render(self) -> Content:
        """Draw the keys and titles that fit."""
        parts = [Content(" ")]
        for entry in self._entries():
            parts += [
                Content.styled(entry.command.footer_key, "bold $text-accent"),
                Content(f" {entry.title}  "),
            ]
        return Content("").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Run the command that was clicked."""
        for entry in self._entries():
            if entry.start <= event.x < entry.end:
                self.press(entry.command)


def by_rank(commands: Iterable[Command]) -> list[Command]:
    """Return the commands that have a rank in the footer, in order of rank."""
    ranked = (command for command in commands if command.footer is not None)
    return sorted(ranked, key=lambda command: command.footer or 0)
