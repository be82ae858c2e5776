"""The first row of the chat screen, and how full the chat makes the model's context."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from workbench.domain.display import one_line
from workbench.runner.chat_request import ChatRequest
from workbench.workspace.chat_session import ChatSession
from workbench.workspace.run_state import RunState

_NEARLY = 0.85
"""The fraction of the context from which on it counts as nearly full."""
FULL = Content.styled("✗ context full", "bold $text-error")
"""The note where a prompt does not fit the context."""


def gauge_of(made: ChatRequest) -> Content | None:
    """How full a prompt makes the context; None where that is not known."""
    fitted, size = made.left_out, made.context
    if fitted is None or size is None:
        return None
    used = fitted.tokens + int(made.request.parameters.number("max_tokens", 16))
    mark, style = "", "$text-muted"
    if fitted.dropped:
        mark, style = f"▲ {len(fitted.dropped)} turns left out  ", "bold $text-warning"
    elif used > size:
        mark, style = "✗ ", "bold $text-error"
    elif used > size * _NEARLY:
        mark, style = "▲ nearly full  ", "bold $text-warning"
    about = "" if fitted.is_exact else "≈"
    return Content.styled(f"{mark}context {about}{fitted.tokens:,}/{size:,}", style)


class ChatHeader(Static):
    """Shows which template, model and endpoint are used, how full the context is, and what is running."""

    DEFAULT_CSS = """
    ChatHeader { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    """

    def __init__(self, chat: ChatSession) -> None:
        super().__init__(id="about", markup=False)
        self._chat = chat
        self._state: RunState | None = None
        self.gauge = Content("")
        """How full the context is."""

    def show(self, state: RunState) -> None:
        """Show what is running."""
        self._state = state
        name = self._chat.chat.template.rpartition("/")[2] or "the endpoint's own"
        model = one_line(self._chat.draft.model, 40) or "default model"
        target = f"{model} @ {one_line(self._chat.endpoint.name, 30)}"
        right = Content.assemble(self.gauge, "   ", (str(state), f"$text-{state.tone}"))
        width = self.size.width - 2
        left = Content.assemble(
            ("Chat", "bold"), ("   template ", "$text-muted"), one_line(name, 40), f"   {target}"
        ).truncate(max(width - right.cell_length - 1, 0), ellipsis=True)
        gap = max(width - left.cell_length - right.cell_length, 1)
        self.update(Content.assemble(left, " " * gap, right))

    def on_resize(self) -> None:
        """Spread over the new width."""
        if self._state is not None:
            self.show(self._state)
