"""How much moves: `reduced_motion` in the configuration, or TEXTUAL_ANIMATIONS=none, calms the screen."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.widget import Widget
from textual.widgets import Input, TextArea

_FRAMES_A_SECOND, _CALM_FRAMES_A_SECOND = 30, 3


def is_reduced(app: App[Any]) -> bool:
    """Whether nothing is to move that need not."""
    return app.animation_level == "none"


def frame_seconds(app: App[Any]) -> float:
    """Seconds between two frames while something streams."""
    return 1 / (_CALM_FRAMES_A_SECOND if is_reduced(app) else _FRAMES_A_SECOND)


def hold_cursor(widget: Widget | None) -> None:
    """Let the cursor of a text field stand still."""
    if isinstance(widget, Input | TextArea):
        widget.cursor_blink = False
