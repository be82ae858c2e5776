"""How much moves, and how often what streams is drawn: 30 times a second, less often where frames are large.

A frame of a pane full of coloured tokens is some 15 KB, four fifths of it colours. A terminal far away gets
fewer frames, never fewer colours; what is typed is drawn at once in any case. `reduced_motion` in the
configuration, or TEXTUAL_ANIMATIONS=none, calms the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.app import App
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, TextArea

_FRAMES_A_SECOND, _CALM_FRAMES_A_SECOND = 30, 3
_BYTES_A_SECOND = 300_000
_SECONDS_BEHIND = 0.1
"""How much of that may be on its way when a frame is drawn, so that no frame waits for a single large one."""


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


class Pace:
    """When a line of 300 KB/s has carried what was written, in seconds of a clock that never goes back."""

    def __init__(self) -> None:
        self._carried = 0.0

    def note(self, size: int, now: float) -> None:
        """Take in that so many bytes were written."""
        self._carried = max(self._carried, now) + size / _BYTES_A_SECOND

    @property
    def next_frame(self) -> float:
        """The earliest moment of the next frame."""
        return self._carried - _SECONDS_BEHIND


def pace_of(app: App[Any]) -> Pace:
    """The pace of an application's frames."""
    pace = getattr(app, "pace", None)
    return pace if isinstance(pace, Pace) else Pace()


class Frames:
    """Draws what streams again and again, as long as it does."""

    def __init__(self, owner: Widget, draw: Callable[[], object]) -> None:
        """`owner` is the widget whose timers are used."""
        self._owner, self._draw = owner, draw
        self._timer: Timer | None = None
        self._due = 0.0

    def resume(self) -> None:
        """Draw from now on."""
        if self._timer is None:
            self._wait()

    def pause(self) -> None:
        """Draw no more."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _wait(self) -> None:
        self.pause()
        app, now = self._owner.app, monotonic()
        seconds = frame_seconds(app)
        # In step with the frames before, as long as drawing them leaves time for anything else.
        self._due = max(self._due + seconds, now + seconds / 2, pace_of(app).next_frame)
        self._timer = self._owner.set_timer(self._due - now, self._next)

    def _next(self) -> None:
        # A timer that was stopped may have fired before.
        if self._timer is not None:
            self._draw()
        if self._timer is not None:
            self._wait()
