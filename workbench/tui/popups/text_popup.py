"""Asking for a text of any length."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.exact_text_area import ExactTextArea
from workbench.tui.popups.picker import Popup


class TextPopup(Popup[str]):
    """Answers with the text exactly as it was written, or None."""

    DEFAULT_CSS = """
    TextPopup { align: center top; background: $background 40%; }
    TextPopup > Vertical { width: 90%; max-width: 90; height: 12; margin-top: 2; border: round $accent;
        background: $surface; padding: 0 1; border-subtitle-color: $text-muted; }
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
        with Vertical() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = Content("Ctrl+J or F5 accept · Esc cancel")
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
