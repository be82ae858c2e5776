"""The base of full screens that return a result, and how every screen closes."""

from __future__ import annotations

from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType

from workbench.tui.breakpoints import begin_at_size
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at


def dismiss_once(screen: Screen[ScreenResultType], result: ScreenResultType | None) -> AwaitComplete:
    """Close a screen with its result once it is mounted; do nothing if it is not on top or closed already.

    Textual's own `dismiss` closes whichever screen is on top, and fails if that is still mounting.
    """
    if screen.is_active and screen.is_mounted:
        return Screen.dismiss(screen, result)
    if screen.is_active:
        screen.call_later(_dismiss, screen, result)
    return AwaitComplete()


class ResultScreen(Screen[ScreenResultType]):
    """The base of every full screen that returns a result."""

    DEFAULT_CSS = """
    ResultScreen { layout: vertical; background: $background; }
    ResultScreen .pane {
        border: round $border-blurred; border-title-color: $text-muted; border-subtitle-color: $text-muted;
        border-title-style: bold; background: $background;
    }
    ResultScreen .pane:focus { border: round $accent; border-title-color: $foreground; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium")]  # noqa: RUF012
    BINDINGS = bindings_at(Where.EVERYWHERE)
    where: ClassVar[Where]
    """The screen's section of the command table, which the last row and the help show."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with a result."""
        return dismiss_once(self, result)

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def on_compose(self) -> None:
        """Set the breakpoint classes before the first layout."""
        begin_at_size(self, self.app.size)

    @property
    def is_closed(self) -> bool:
        """Whether the screen is being removed, so that some of its widgets are already gone."""
        return not self.display


def _dismiss(screen: Screen[ScreenResultType], result: ScreenResultType | None) -> None:
    # Returns nothing: Textual would await the result, and a screen must not await its own removal.
    screen.dismiss(result)
