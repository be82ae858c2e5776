"""The first row of a full screen, which says what the screen shows."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget


class HeadingRow(Widget):
    """Shows a heading and a text at the left, and a state at the right, which takes precedence."""

    DEFAULT_CSS = "HeadingRow { height: 1; padding: 0 1; background: $panel; color: $foreground; }"

    def __init__(self, heading: str) -> None:
        super().__init__(id="about")
        self._heading = Content.styled(heading, "bold")
        self._left, self._right = self._heading, Content("")

    def show(self, text: str | Content, state: str | Content = "") -> None:
        """Show another text and state."""
        left = Content.assemble(self._heading, "  ", text)
        right = state if isinstance(state, Content) else Content.styled(state, "$text-accent")
        if not (left.is_same(self._left) and right.is_same(self._right)):
            self._left, self._right = left, right
            self.refresh()

    def render(self) -> Content:
        """Draw both sides, with the left side truncated to the room that is left."""
        room = max(self.content_size.width - self._right.cell_length, 1)
        left = self._left.truncate(room - 1, ellipsis=True)
        return Content.assemble(left, " " * (room - left.cell_length), self._right)
