"""Screens that answer whoever opened them."""

from __future__ import annotations

from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType

from workbench.tui.breakpoints import begin_at_size
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at


class AnsweringScreen(Screen[ScreenResultType]):
    """Answers once; a later answer, or one below another screen, closes nothing.

    Textual closes whatever screen is on top, also one whose widgets are not made yet, which then fails.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with an answer, once it is there."""
        if self.is_active and self.is_mounted:
            return super().dismiss(result)
        if self.is_active:
            self.call_later(_dismiss, self, result)
        return AwaitComplete()

    def action_close(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class ResultScreen(AnsweringScreen[ScreenResultType]):
    """The base of every full screen that returns a result."""

    DEFAULT_CSS = """
    ResultScreen { layout: vertical; background: $background; }
    ResultScreen #about { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    ResultScreen .pane {
        border: round $border-blurred; border-title-color: $text-muted; border-subtitle-color: $text-muted;
        border-title-style: bold; background: $background;
    }
    ResultScreen .pane:focus { border: round $accent; border-title-color: $foreground; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium")]  # noqa: RUF012
    BINDINGS = bindings_at(Where.EVERYWHERE)
    where: ClassVar[Where]
    """Whose keys its last row and help show."""

    def on_compose(self) -> None:
        """Be laid out for the terminal's size from the first."""
        begin_at_size(self, self.app.size)

    @property
    def is_closed(self) -> bool:
        """Whether it is being removed: its widgets go one by one, and what is still called finds few."""
        return not self.display


def _dismiss(screen: AnsweringScreen[ScreenResultType], result: ScreenResultType | None) -> None:
    # A screen may not wait for its own end.
    screen.dismiss(result)
