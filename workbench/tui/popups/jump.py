"""The jump overlay: a letter on every pane and field that can have the focus."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Offset
from textual.widgets import Label

from workbench.tui.popups.popup import Popup

LETTERS = "asdfghjklqwertyuiopzxcvbnmASDFGHJKLQWERTYUIOPZXCVBNM"


class Jump(Popup[str]):
    """Shows letters over the screen below; returns the target of the letter typed, or None."""

    DEFAULT_CSS = """
    Jump { background: transparent; layers: letters; }
    Jump Label { layer: letters; position: absolute; width: 3; height: 1; background: $accent;
        color: $background; text-style: bold; text-align: center; }
    """

    def __init__(self, targets: Sequence[tuple[str, Offset]]) -> None:
        """`targets` are the values to return, each with the position of its letter on the screen."""
        super().__init__()
        self._targets = dict(zip(LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        for letter, (_, offset) in self._targets.items():
            label = Label(Content(letter))
            label.styles.offset = (offset.x, offset.y)
            yield label

    def on_mount(self) -> None:
        """Note the size that the letters are placed for."""
        self._size = self.app.size

    def on_resize(self, event: events.Resize) -> None:
        """Close once the size changes, as the letters would be in the wrong places."""
        if event.size != self._size:
            self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        """Return the letter's target; close on any other key."""
        event.stop()
        target = self._targets.get(event.character or "")
        self.dismiss(target[0] if target else None)

    def on_click(self) -> None:
        """Close."""
        self.dismiss(None)
