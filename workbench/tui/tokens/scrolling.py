"""Scrolling views to where another one is, a few in each frame, so that keys are answered in between."""

from __future__ import annotations

from collections.abc import Iterable

from textual.timer import Timer
from textual.widget import Widget

_FRAME = 1 / 30


class Followers:
    """Views that are still to be scrolled; those that wait longest come first."""

    def __init__(self, owner: Widget, at_once: int) -> None:
        """`owner` is the widget whose timer is used; `at_once` is how many views follow in one frame."""
        self._owner = owner
        self._at_once = at_once
        self._y = 0
        self._behind: list[Widget] = []
        self._timer: Timer | None = None

    def follow(self, views: Iterable[Widget], y: int) -> None:
        """Let views follow to a row; one that is on its way to another goes to this one."""
        self._y = y
        self._behind += [one for one in views if one not in self._behind and one.scroll_offset.y != y]
        if self._behind and self._timer is None:
            self._timer = self._owner.set_interval(_FRAME, self._scroll_some)

    def _scroll_some(self) -> None:
        some, self._behind = self._behind[: self._at_once], self._behind[self._at_once :]
        for view in some:
            view.scroll_to(y=self._y, animate=False, force=True)
        if not self._behind and self._timer is not None:
            self._timer.stop()
            self._timer = None
