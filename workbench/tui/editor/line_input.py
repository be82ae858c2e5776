"""A line to type in, which shows what a terminal would obey as glyphs."""

from __future__ import annotations

from rich.highlighter import Highlighter
from rich.text import Text
from textual.widgets import Input

from workbench.tui.editor.exact_document import shown

MOST = 100_000
"""Characters of a line: Textual measures the whole of it at every key."""


class _Glyphs(Highlighter):
    def highlight(self, text: Text) -> None:
        """Show each control character as one glyph, so that the cursor stays where it is."""
        text.plain = shown(text.plain)


_GLYPHS = _Glyphs()


class LineInput(Input):
    """Textual's input, whose value is kept exactly, however hostile, and never obeyed."""

    DEFAULT_CSS = """
    LineInput { border: none; height: 1; padding: 0; background: $surface; }
    LineInput:focus { border: none; }
    """

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        select_on_focus: bool = True,
        name: str | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(
            value,
            placeholder=shown(placeholder),
            highlighter=_GLYPHS,
            # What is longer already can be made shorter.
            max_length=max(MOST, len(value)),
            select_on_focus=select_on_focus,
            name=name,
            id=id,
        )

    def restricted(self) -> None:
        """Say why nothing was typed or pasted."""
        self.notify(f"A line has at most {MOST:,} characters.", timeout=3)
