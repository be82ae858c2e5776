"""The first row of the chat screen, and how full the chat makes the model's context."""

from __future__ import annotations

from textual.content import Content

from workbench.domain.display import one_line
from workbench.runner.chat_request import ChatRequest
from workbench.tui.popups.heading_row import HeadingRow
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


class ChatHeader(HeadingRow):
    """Shows the template, model and endpoint in use, how full the context is, and the state of the run."""

    def __init__(self, chat: ChatSession) -> None:
        super().__init__("Chat")
        self._chat = chat
        self.gauge = Content("")
        """How full the context is."""

    def show_state(self, state: RunState) -> None:
        """Show the state of the run, and the current settings."""
        name = self._chat.chat.template.rpartition("/")[2] or "the endpoint's own"
        model = one_line(self._chat.draft.model, 40) or "default model"
        target = f"{model} @ {one_line(self._chat.endpoint.name, 30)}"
        text = Content.assemble((" template ", "$text-muted"), one_line(name, 40), f"   {target}")
        self.show(text, Content.assemble(self.gauge, "   ", (str(state), f"$text-{state.tone}")))
