"""The last row of a screen with keys of its own."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from workbench.tui.commands import Where, commands_at


class KeyRow(Widget):
    """Keys and what they do; what does not fit is left out."""

    DEFAULT_CSS = "KeyRow { height: 1; background: $panel; color: $foreground; }"

    def __init__(self, where: Where) -> None:
        super().__init__()
        self._where = where

    def render(self) -> Content:
        """The row of keys."""
        parts, used = [Content(" ")], 1
        ranked = [one for one in commands_at(self._where) if one.footer is not None]
        for command in sorted(ranked, key=lambda one: one.footer or 0):
            key = (command.shown or command.first_key).replace("Ctrl+", "^")
            used += cell_len(key) + cell_len(command.title) + 3
            if used > self.size.width:
                break
            parts += [Content.styled(key, "bold $text-accent"), Content(f" {command.title}  ")]
        return Content("").join(parts)
