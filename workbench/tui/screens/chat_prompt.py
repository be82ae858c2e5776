"""What the chat screen tells of the next prompt: its exact text, its tokens, and how full the context is."""

from __future__ import annotations

from textual import on, work
from textual.content import Content
from textual.timer import Timer
from textual.widgets import TextArea

from workbench.domain.display import one_line, visible
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.turns import Turn
from workbench.runner.chatting import ChatRequest
from workbench.tui.screens.chat_frame import ChatFrame
from workbench.tui.theme.token_styles import TokenStyles
from workbench.tui.tokenizing import has_tokenizer
from workbench.tui.tokens.transcript import Section
from workbench.workspace.chat_session import ChatSession

_PAUSE = 0.3
"""Seconds without a key after which the prompt is made and counted anew."""
_NEARLY = 0.85
"""The share of the context from which on it is called nearly full."""


_UNCOUNTED = "tokens not counted: no tokenizer answers yet"


class ChatPromptScreen(ChatFrame):
    """Makes the next prompt again whenever what it is made of has changed."""

    def __init__(self, chat: ChatSession, styles: TokenStyles) -> None:
        super().__init__(chat, styles)
        self._pausing: Timer | None = None
        self.left_out: frozenset[int] = frozenset()
        """The places of turns that the next prompt goes without."""
        self.editing: Turn | None = None
        """The turn whose text is in the composer."""

    @on(TextArea.Changed, "#composer")
    def prompt_changed(self) -> None:
        """Make the next prompt again, once nothing more is typed."""
        if self._pausing is not None:
            self._pausing.stop()
        self._pausing = self.set_timer(_PAUSE, self._look)

    def _look(self) -> None:
        # The embedded model is not started for a count, only for a prompt that is looked at.
        if self.has_class("-previewing") or has_tokenizer(self.chat.workspace.services, self.chat.endpoint):
            self._make_prompt()

    @work(exclusive=True, group="prompt")
    async def _make_prompt(self) -> None:
        try:
            made = await self.chat.preview(self.composer.text, self.editing)
        except WorkbenchError as problem:
            if isinstance(problem, BadValueError) and problem.field == "prompt":
                self.show_gauge("✗ context full", "bold $text-error")
            if self.has_class("-previewing"):
                self.tell(str(problem))
                self.preview.set_sections([])
                self.preview.border_subtitle = Content(one_line(problem.title, 70))
            return
        self.tell("")
        self.show_made(made)

    def show_made(self, made: ChatRequest) -> None:
        """Show a prompt that was made, and what it takes of the context."""
        self._show_gauge_of(made)
        dropped = frozenset(made.left_out.dropped) if made.left_out is not None else frozenset()
        if dropped != self.left_out:
            self.left_out = dropped
            self.show_turns()
        if self.has_class("-previewing"):
            rendered = made.rendered
            self.preview.set_sections([Section("prompt", "", rendered.prompt, specials=rendered.specials)])
            self.preview.border_subtitle = Content(" · ".join(self._words(made)))

    def _words(self, made: ChatRequest) -> list[str]:
        fitted, specials = made.left_out, made.rendered.specials
        about = "" if fitted is None or fitted.is_exact else "about "
        words = [f"{about}{fitted.tokens:,} tokens" if fitted is not None else _UNCOUNTED]
        injected = sum(span.injected for span in specials)
        words += [f"{injected} special token{'s' * (injected != 1)} in turns' own text"] * bool(injected)
        if names := self.chat.unfilled(self.composer.text):
            words.append(f"no value: {one_line(', '.join(names), 40)}")
        return [*words, *(visible(note) for note in made.notes)]

    def _show_gauge_of(self, made: ChatRequest) -> None:
        fitted, size = made.left_out, made.context
        if fitted is None or size is None:
            return
        used = fitted.tokens + int(made.request.parameters.number("max_tokens", 16))
        mark, style = "", "$text-muted"
        if fitted.dropped:
            mark, style = f"▲ {len(fitted.dropped)} turns left out  ", "bold $text-warning"
        elif used > size:
            mark, style = "✗ ", "bold $text-error"
        elif used > size * _NEARLY:
            mark, style = "▲ nearly full  ", "bold $text-warning"
        about = "" if fitted.is_exact else "≈"
        self.show_gauge(f"{mark}context {about}{fitted.tokens:,}/{size:,}", style)

    def show_turns(self) -> None:
        """Show the turns as they are now."""

    def action_prompt_preview(self) -> None:
        """Show the exact prompt that the composer's text would make, or hide it."""
        self.toggle_class("-previewing")
        if self.has_class("-previewing"):
            self.preview.border_subtitle = Content("making it…")
            self._make_prompt()
        else:
            self.tell("")

    def action_to_raw(self) -> None:
        """Go on with the exact prompt as plain text in the prompt's editor."""
        self._go_raw()

    @work(exclusive=True, group="prompt")
    async def _go_raw(self) -> None:
        try:
            made = await self.chat.preview(self.composer.text, self.editing)
        except WorkbenchError as problem:
            self.tell(str(problem))
            return
        self.dismiss(made.rendered.prompt)
