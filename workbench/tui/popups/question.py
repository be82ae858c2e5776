"""Popups that ask: a yes-or-no question, a line, a longer text, or a form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, Label

from workbench.domain.display import one_line, visible
from workbench.domain.errors import WorkbenchError
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import commands_of, key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import ExactTextArea, LineInput
from workbench.tui.popups.popup import Box, Popup


class Question(Popup[bool]):
    """Asks a question with two answers; returns True for yes, False for no, None if closed."""

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
            yes, no = ((key_of(self.app, id), "bold $text-accent") for id in ("yes", "no"))
            yield Label(Content.assemble("\n", yes, f" {self._yes}   ", no, f" {self._no}"))

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)


def typed_path(text: str) -> Path:
    """Return the path that a person typed, with `~` expanded."""
    return Path(text.strip()).expanduser()


class LinePopup(Popup[str]):
    """Asks for one line, such as a name; returns it without surrounding whitespace, or None."""

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
        text = event.value.strip()
        if text or self._may_be_empty:
            self.dismiss(text)
        else:
            self.query_one(Box).border_subtitle = Content("It is empty: type something · Esc cancel")


@dataclass(frozen=True, slots=True)
class FormLine:
    """A line of a form."""

    label: str
    text: str = ""
    """The initial text."""
    example: str = ""
    """The placeholder shown while the line is empty."""


class Form(Popup[ScreenResultType]):
    """Asks for several lines; returns the value parsed from them, or None. Shows errors below them."""

    DEFAULT_CSS = """
    Form > Box { max-width: 76; max-height: 90%; overflow-y: auto; margin-top: 1; }
    Form Label { color: $text-muted; }
    Form LineInput { padding: 0 1; background: $panel; }
    Form LineInput:focus { background: $boost; }
    Form #wrong { color: $text-error; width: 100%; }
    """

    def __init__(
        self,
        title: str,
        entries: Sequence[FormLine],
        read: Callable[[Sequence[str]], ScreenResultType],
        *,
        exact: bool = False,
    ) -> None:
        """`read` parses the lines into the result, and raises WorkbenchError if they are invalid.

        Unless `exact` is set, it receives them without surrounding whitespace.
        """
        super().__init__()
        self._title = title
        self._entries = entries
        self._read = read
        self._exact = exact

    def compose(self) -> ComposeResult:
        with Box(self._title, "Tab next · Enter accept · Esc cancel"):
            for entry in self._entries:
                yield Label(Content(one_line(entry.label)))
                yield LineInput(entry.text, placeholder=entry.example)
            yield Label(id="wrong")

    @on(Input.Changed)
    def _clear(self) -> None:
        self.query_one("#wrong", Label).update(Content(""))

    @on(Input.Submitted)
    def _submit(self) -> None:
        try:
            lines = [entry.value for entry in self.query(Input)]
            answer = self._read(lines if self._exact else [line.strip() for line in lines])
        except WorkbenchError as problem:
            self.query_one("#wrong", Label).update(Content(one_line(problem.paragraph)))
            return
        self.dismiss(answer)


class TextPopup(Popup[str]):
    """Asks for a text of any length; returns it exactly as typed, or None."""

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
        with Box(self._title, f"{commands_of(self.app)['take_text'].key_label} accept · Esc cancel"):
            yield ExactTextArea(soft_wrap=True, compact=True)

    def on_mount(self) -> None:
        """Show the text, with the cursor at its end."""
        area = self.query_one(ExactTextArea)
        area.text = self._text
        area.move_cursor(area.document.end)
        area.focus()

    def action_take(self) -> None:
        """Return the text."""
        self.dismiss(self.query_one(ExactTextArea).text)
