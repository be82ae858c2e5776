"""The exact prompt that would be sent, with its special tokens marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from workbench.domain.display import one_line, visible
from workbench.domain.errors import WorkbenchError
from workbench.runner.chat_request import ChatRequest
from workbench.tui.tokens.transcript import Section
from workbench.tui.tokens.transcript_view import TranscriptView

_UNCOUNTED = "tokens not counted: no tokenizer answers yet"


class PromptPreview(Vertical):
    """Shows one prompt."""

    DEFAULT_CSS = """
    PromptPreview { height: 1fr; display: none; border: round $border-blurred; padding: 0 1;
        border-title-color: $text-muted; border-subtitle-color: $text-muted; background: $background; }
    PromptPreview:focus-within { border: round $accent; }
    """
    BORDER_TITLE = "The exact prompt"

    view = getters.query_one(TranscriptView)

    def compose(self) -> ComposeResult:
        yield TranscriptView()

    def show_making(self) -> None:
        """Say that the prompt is being made."""
        self.border_subtitle = Content("rendering…")

    def show_made(self, made: ChatRequest, unfilled: Sequence[str]) -> None:
        """Show a prompt; `unfilled` are the variables in it without a value."""
        rendered = made.rendered
        self.view.set_sections([Section("prompt", "", rendered.prompt, specials=rendered.specials)])
        self.border_subtitle = Content(" · ".join(_words(made, unfilled)))

    def show_problem(self, problem: WorkbenchError) -> None:
        """Show that there is no prompt."""
        self.view.set_sections([])
        self.border_subtitle = Content(one_line(problem.title, 70))


def _words(made: ChatRequest, unfilled: Sequence[str]) -> Iterator[str]:
    fitted, specials = made.left_out, made.rendered.specials
    about = "" if fitted is None or fitted.is_exact else "about "
    yield f"{about}{fitted.tokens:,} tokens" if fitted is not None else _UNCOUNTED
    if injected := sum(span.injected for span in specials):
        yield f"{injected} special token{'s' * (injected != 1)} in turns' own text"
    if unfilled:
        yield f"no value: {one_line(', '.join(unfilled), 40)}"
    yield from map(visible, made.notes)
