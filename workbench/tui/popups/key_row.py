"""The last row of a screen: its keys and what they do, each of which can be clicked."""

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
    """Keys and what they do; what does not fit is left out, from the right."""

    DEFAULT_CSS = "KeyRow { height: 1; background: $panel; color: $foreground; }"
    ALWAYS = 0
    """So many of the first entries are never left out."""

    where: reactive[Where] = reactive(Where.ANYWHERE)
    """Whose keys they are."""
    running: reactive[bool] = reactive(False)
    """Whether something streams, which Esc would stop; else it closes the screen."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self.where = where

    def listed(self) -> Iterable[Command]:
        """The commands to show, first the one to keep longest."""
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
        """Do what was clicked: press its key, where it is one key."""
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
        """The row of keys."""
        parts = [Content(" ")]
        for entry in self._entries():
            parts += [
                Content.styled(entry.command.footer_key, "bold $text-accent"),
                Content(f" {entry.title}  "),
            ]
        return Content("").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Do what was clicked."""
        for entry in self._entries():
            if entry.start <= event.x < entry.end:
                self.press(entry.command)


def by_rank(commands: Iterable[Command]) -> list[Command]:
    """Those commands that belong into a last row, in its order."""
    ranked = (command for command in commands if command.footer is not None)
    return sorted(ranked, key=lambda command: command.footer or 0)
