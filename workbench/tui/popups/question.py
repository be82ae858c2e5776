"""A question with two answers."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Label

from workbench.domain.display import visible
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.popups.picker import Popup


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
