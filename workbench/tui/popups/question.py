"""A question with two answers."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label

from workbench.domain.display import visible
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.line_input import LineInput
from workbench.tui.popups.picker import Box, Popup


class Question(Popup[bool]):
    """Asks; answers True for yes, and None or False for anything else."""

    DEFAULT_CSS = """
    Question { align: center middle; }
    Question > Vertical { width: auto; max-width: 70; height: auto; border: round $warning;
        background: $surface; padding: 1 2; }
    Question Label { width: auto; max-width: 64; }
    """
    BINDINGS = bindings_at(Where.QUESTION)
    where = Where.QUESTION

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Content(visible(self._question)))
            key = "bold $text-accent"
            yield Label(Content.assemble(("\ny", key), f" {self._yes}   ", ("n", key), f" {self._no}"))

    def action_answer(self, answer: bool) -> None:
        """Take the answer."""
        self.dismiss(answer)


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
