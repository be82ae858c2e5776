"""How full a chat makes the model's context, and when to warn of it."""

from __future__ import annotations

from textual.content import Content

from workbench.runner.chat_request import ChatRequest

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
