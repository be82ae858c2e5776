"""Taking prompt and parameters from a curl command: pasted where asked for, or into the prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Label

from workbench.domain.display import one_line
from workbench.domain.errors import WorkbenchError
from workbench.runner.curl import CurlDraft
from workbench.tui.screens.popup import Popup
from workbench.tui.screens.question import Question
from workbench.tui.widgets.exact_text_area import ExactTextArea


class CurlPopup(Popup[CurlDraft]):
    """Answers with what the command pasted would send, or None; what cannot be read is said below it."""

    DEFAULT_CSS = """
    CurlPopup { align: center top; background: $background 40%; }
    CurlPopup > Vertical { width: 90%; max-width: 100; height: auto; margin-top: 2; border: round $accent;
        background: $surface; padding: 0 1; border-subtitle-color: $text-muted; }
    CurlPopup ExactTextArea { height: 12; border: none; padding: 0; background: $panel; }
    CurlPopup #wrong { color: $text-error; width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,ctrl+s", "take", "Take", show=False, priority=True),
    ]

    def __init__(self, read: Callable[[str], CurlDraft], text: str = "") -> None:
        """`read` understands a command; it raises WorkbenchError where it cannot."""
        super().__init__()
        self._read = read
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content("Paste a curl command")
            box.border_subtitle = Content("Ctrl+J takes prompt and parameters · Esc")
            yield ExactTextArea(self._text, soft_wrap=True, compact=True)
            yield Label(id="wrong")

    def action_take(self) -> None:
        """Take the command over, or say what is wrong with it."""
        try:
            taken = self._read(self.query_one(ExactTextArea).text)
        except WorkbenchError as problem:
            told = " ".join(filter(None, (problem.title, problem.message, problem.hint)))
            self.query_one("#wrong", Label).update(Content(one_line(told, 300)))
            return
        self.dismiss(taken)


def ask_for_curl(
    app: App[int], read: Callable[[str], CurlDraft], text: str, take: Callable[[CurlDraft], None]
) -> None:
    """Let a person paste a curl command; `text` is what to begin with."""

    def closed(taken: CurlDraft | None) -> None:
        if taken is not None:
            take(taken)

    app.push_screen(CurlPopup(read, text), closed)


def offer_curl(
    app: App[int], read: Callable[[str], CurlDraft], text: str, take: Callable[[CurlDraft], None]
) -> None:
    """Offer to take over a curl command that was pasted as text; one that cannot be is left alone."""
    try:
        taken = read(text)
    except WorkbenchError:
        return
    question = "This is a curl command. Take its prompt and parameters?\n" + "\n".join(taken.notes)

    def answered(yes: bool | None) -> None:
        if yes:
            take(taken)

    app.push_screen(Question(question, "take them", "keep the text as it is"), answered)
