"""The last row: the keys that matter now, each of which can be clicked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.tui.command_table import OWN_KEYS, CommandTable
from workbench.tui.commands import Command, Where

_ALWAYS = 4
"""So many of the first entries are never dropped: run or stop, help, commands."""


class _Entry(NamedTuple):
    command: Command
    key: str
    title: str
    start: int
    end: int


class Footer(Widget):
    """Keys and what they do; drops entries from the right where they do not fit."""

    DEFAULT_CSS = """
    Footer { height: 1; background: $panel; color: $foreground; }
    """

    running = reactive(False)
    where: reactive[Where] = reactive(Where.PROMPT)

    @dataclass
    class CommandClicked(Message):
        """A command was clicked."""

        id: str

    def __init__(self, commands: CommandTable = OWN_KEYS) -> None:
        super().__init__()
        self._table = commands

    def _entries(self) -> list[_Entry]:
        shown: list[_Entry] = []
        at = 1
        for place, command in enumerate(self._commands()):
            key, title = _short_key(command), command.title
            end = at + cell_len(key) + 1 + cell_len(title)
            if end > self.size.width and place >= _ALWAYS - 1:
                break
            shown.append(_Entry(command, key, title, at, end))
            at = end + 2
        return shown

    def _commands(self) -> list[Command]:
        ranked = sorted(
            (one for one in self._table if one.footer is not None), key=lambda one: one.footer or 0
        )
        first = self._table["stop" if self.running else "run"]
        everywhere = [one for one in ranked if one.where is Where.ANYWHERE and one.id not in ("run", "stop")]
        here = [one for one in ranked if one.where is self.where and one.where is not Where.ANYWHERE]
        return [first, *everywhere[:2], *here, *everywhere[2:]]

    def render(self) -> Content:
        """The row of keys."""
        parts = [Content(" ")]
        for entry in self._entries():
            parts += [Content.styled(entry.key, "bold $text-accent"), Content(f" {entry.title}  ")]
        return Content("").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Tell which command was clicked."""
        for entry in self._entries():
            if entry.start <= event.x < entry.end:
                self.post_message(self.CommandClicked(entry.command.id))


def _short_key(command: Command) -> str:
    return command.shown or command.first_key.replace("Ctrl+", "^")
