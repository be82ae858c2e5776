"""The application: themes, signals, and the main screen."""

from __future__ import annotations

import asyncio
import signal
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.question import Question
from workbench.tui.services import Services


class WorkbenchApp(App[int]):
    """The workbench in a terminal."""

    TITLE = "Completion Workbench"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.services = services
        self._main: MainScreen | None = None

    @property
    def main(self) -> MainScreen:
        """The screen below all popups."""
        assert self._main is not None
        return self._main

    def on_mount(self) -> None:
        """Open the main screen, and save everything when the terminal goes away."""
        self._main = MainScreen(self.services)
        self.push_screen(self._main)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(number, self._end)

    def _end(self) -> None:
        self.run_worker(self.leave(), name="leave")

    async def leave(self) -> None:
        """Stop what streams, keep what came, and go."""
        await self.main.aclose()
        await self.services.aclose()
        self.exit(0)

    async def action_quit(self) -> None:
        """Leave; asks only while something streams."""
        if not self.main.is_running:
            await self.leave()
            return
        if not isinstance(self.screen, Question):
            self.push_screen(Question("A completion is streaming.", "stop and quit", "stay"), self._quit)

    def _quit(self, answer: bool | None) -> None:
        if answer:
            self._end()

    def action_copy_or_stop(self) -> None:
        """Copy what is selected, else stop the stream."""
        self.main.copy_or_stop(self.screen)
