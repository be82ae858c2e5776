"""Limit the frame rate of streaming runs: 30 frames a second, fewer if they are large or motion is reduced.

A frame of a pane full of coloured tokens is about 15 KB, four fifths of it colours. Over a slow connection,
frames are skipped rather than queued; keys are always drawn at once. Motion is reduced by `reduced_motion` in
the configuration or TEXTUAL_ANIMATIONS=none.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from textual.app import App
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, TextArea

_FRAMES_A_SECOND, _CALM_FRAMES_A_SECOND = 30, 3
_BYTES_A_SECOND = 300_000
_SECONDS_BEHIND = 0.1
"""Seconds of output that may still be in transit when a frame is drawn."""


def is_reduced(app: App[Any]) -> bool:
    """Return whether motion is reduced."""
    return app.animation_level == "none"


def frame_seconds(app: App[Any]) -> float:
    """Return the seconds between two frames of a streaming run."""
    return 1 / (_CALM_FRAMES_A_SECOND if is_reduced(app) else _FRAMES_A_SECOND)


def hold_cursor(widget: Widget | None) -> None:
    """Stop the cursor of a text field from blinking."""
    if isinstance(widget, Input | TextArea):
        widget.cursor_blink = False


class Pace:
    """Estimates when a connection of 300 KB/s has carried the output, in seconds of the monotonic clock."""

    def __init__(self) -> None:
        self._carried = 0.0

    def note(self, size: int, now: float) -> None:
        """Record that `size` bytes were written at `now`."""
        self._carried = max(self._carried, now) + size / _BYTES_A_SECOND

    @property
    def next_frame(self) -> float:
        """The earliest time of the next frame."""
        return self._carried - _SECONDS_BEHIND


_PACES: WeakKeyDictionary[App[Any], Pace] = WeakKeyDictionary()


def pace_of(app: App[Any]) -> Pace:
    """Return the pace of an application, which its driver and all its frames share."""
    return _PACES.setdefault(app, Pace())


class Frames:
    """A timer that draws a streaming run at the frame rate."""

    def __init__(self, owner: Widget, draw: Callable[[], object]) -> None:
        """`owner` is the widget that sets the timers, `draw` draws a frame."""
        self._owner, self._draw = owner, draw
        self._timer: Timer | None = None
        self._due = 0.0

    def resume(self) -> None:
        """Start drawing."""
        if self._timer is None:
            self._wait()

    def pause(self) -> None:
        """Stop drawing."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _wait(self) -> None:
        self.pause()
        app, now = self._owner.app, monotonic()
        seconds = frame_seconds(app)
        # In step with earlier frames, as long as half of the time is left for other work.
        self._due = max(self._due + seconds, now + seconds / 2, pace_of(app).next_frame)
        self._timer = self._owner.set_timer(self._due - now, self._next)

    def _next(self) -> None:
        # The timer may have fired before it was stopped.
        if self._timer is not None:
            self._draw()
        if self._timer is not None:
            self._wait()
