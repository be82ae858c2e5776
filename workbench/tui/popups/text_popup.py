"""Asking for a text of any length."""

from __future__ import annotations

from textual.app import ComposeResult

from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.exact_text_area import ExactTextArea
from workbench.tui.popups.picker import Box, Popup


class TextPopup(Popup[str]):
    """Answers with the text exactly as it was written, or None."""

    DEFAULT_CSS = """
    TextPopup > Box { max-width: 90; height: 12; }
    TextPopup ExactTextArea, TextPopup ExactTextArea:focus { border: none; height: 1fr; padding: 0;
        background: $surface; }
    """
    BINDINGS = bindings_at(Where.WRITING)
    where = Where.WRITING

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Box(self._title, "Ctrl+J or F5 accept · Esc cancel"):
            yield ExactTextArea(soft_wrap=True, compact=True)

    def on_mount(self) -> None:
        """Show the text, with the cursor at its end."""
        area = self.query_one(ExactTextArea)
        area.text = self._text
        area.move_cursor(area.document.end)
        area.focus()

    def action_take(self) -> None:
        """Answer with the text."""
        self.dismiss(self.query_one(ExactTextArea).text)
