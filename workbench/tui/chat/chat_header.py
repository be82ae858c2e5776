"""The first row of the chat screen, with the gauge of the model's context."""

from __future__ import annotations

from textual.content import Content

from workbench.domain.display import one_line, plural
from workbench.runner.chat_request import ChatRequest
from workbench.tui.popups.heading_row import HeadingRow
from workbench.workspace.chat_session import ChatSession
from workbench.workspace.run_state import RunState

_NEARLY = 0.85
"""Fraction of the context above which it counts as nearly full."""
FULL = Content.styled("✗ context full", "bold $text-error")
"""The gauge of a prompt that does not fit the context."""


def gauge_of(made: ChatRequest) -> Content | None:
    """Return the context gauge for a prompt; None if its tokens or the context size are unknown."""
    fitted, size = made.left_out, made.context
    if fitted is None or size is None:
        return None
    used = fitted.tokens + made.request.parameters.max_tokens
    mark, style = "", "$text-muted"
    if fitted.dropped:
        mark, style = f"▲ {plural(len(fitted.dropped), 'turn')} left out  ", "bold $text-warning"
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
        """The gauge of the context; empty if unknown."""

    def show_state(self, state: RunState) -> None:
        """Show the state of the run, and the current settings."""
        name = self._chat.chat.template.rpartition("/")[2] or "the endpoint's own"
        model = one_line(self._chat.draft.model, 40) or "default model"
        target = f"{model} @ {one_line(self._chat.endpoint.name, 30)}"
        text = Content.assemble((" template ", "$text-muted"), one_line(name, 40), f"   {target}")
        self.show(text, Content.assemble(self.gauge, "   ", (str(state), f"$text-{state.tone}")))
