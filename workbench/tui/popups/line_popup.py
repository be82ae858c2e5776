"""Asking for one line of text."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input

from workbench.tui.editor.line_input import LineInput
from workbench.tui.popups.picker import Box, Popup


def typed_path(text: str) -> Path:
    """The path that a person typed, where `~` is their home."""
    return Path(text.strip()).expanduser()


class LinePopup(Popup[str]):
    """Asks for a name; answers with it, or None."""

    DEFAULT_CSS = """
    LinePopup > Box { max-width: 70; height: 3; margin-top: 3; }
    """

    def __init__(self, title: str, text: str, *, may_be_empty: bool = False) -> None:
        super().__init__()
        self._may_be_empty = may_be_empty
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Box(self._title, "Enter accept · Esc cancel"):
            yield LineInput(self._text)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        name = event.value.strip()
        if name or self._may_be_empty:
            self.dismiss(name)
        else:
            self.query_one(Box).border_subtitle = Content("It is empty: type something · Esc cancel")
