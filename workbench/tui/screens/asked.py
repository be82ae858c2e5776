"""The base of every screen that is asked something."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType


class AskedScreen(Screen[ScreenResultType]):
    """Answers once; a later answer, or one below another screen, closes nothing.

    Textual closes whatever screen is on top.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with an answer."""
        return super().dismiss(result) if self.is_active else AwaitComplete()
