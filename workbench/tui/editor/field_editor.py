"""The small editor in which a parameter's value is typed."""

from __future__ import annotations

from textual import events
from textual.message import Message

from workbench.tui.editor.exact_text_area import ExactTextArea


class FieldEditor(ExactTextArea):
    """One line or several; Enter or Tab finishes, Escape drops what was typed."""

    DEFAULT_CSS = """
    FieldEditor { height: auto; max-height: 6; border: none; padding: 0 1; display: none;
        background: $boost; }
    FieldEditor.-editing { display: block; }
    """

    class Entered(Message):
        """What was typed is to be taken."""

    class Cancelled(Message):
        """What was typed is to be forgotten."""

    def __init__(self) -> None:
        self._has_lines = False
        super().__init__(tab_behavior="focus", soft_wrap=True, compact=True)

    def begin(self, text: str, has_lines: bool) -> None:
        """Edit a text; with `has_lines` Enter begins another line."""
        self._has_lines = has_lines
        self.load_text(text)
        self.move_cursor(self.document.end)
        self.add_class("-editing")
        self.focus()

    def end(self) -> None:
        """Nothing is edited any more."""
        self.remove_class("-editing")

    async def _on_key(self, event: events.Key) -> None:
        finishes = event.key == "tab" or (event.key == "enter" and not self._has_lines)
        if finishes or event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Entered() if finishes else self.Cancelled())
            return
        await super()._on_key(event)
