"""What the main screen does with many requests at once: a sweep, and a set of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tui.screens.chatting import ChattingScreen

if TYPE_CHECKING:
    from workbench.tui.screens.gridding import Axes


class BatchScreen(ChattingScreen):
    """Opens grids of the draft; remembers the axes last typed."""

    _typed_axes: tuple[str, ...] = ("temperature=0:1.5:0.25", "", "1")

    def action_sweep(self) -> None:
        """Vary one or two parameters over the draft."""
        # Most sessions sweep nothing, so the first paint need not wait for it.
        from workbench.tui.screens.gridding import sweep

        def begin() -> None:
            sweep(self.app, self.to_compare(), self.output.runs, self._typed_axes, self._take_axes)

        self.attempt(begin)

    def _take_axes(self, axes: Axes) -> None:
        self._typed_axes = axes.typed

    def action_prompt_set(self) -> None:
        """Send every prompt of a file under chosen presets."""
        from workbench.tui.screens.gridding import prompt_set

        self.attempt(lambda: prompt_set(self.app, self.to_compare(), self.output.runs))
