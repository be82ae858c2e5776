"""The re-run screen: a recorded answer beside the one that streams now, compared token by token."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.tui.commands import Where
from workbench.tui.rerunning import Rerun
from workbench.tui.screens.compare import CompareScreen
from workbench.tui.token_styles import TokenStyles


class RerunScreen(CompareScreen):
    """A comparison of a run with itself; there is nothing to adopt, as the parameters are the same."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "difference", "Difference", show=False)]
    heading = "Re-run"
    where = Where.RERUN

    def __init__(self, rerun: Rerun, styles: TokenStyles) -> None:
        seed = rerun.recorded.request.parameters.get("seed")
        super().__init__(rerun, styles, "no seed" if seed is None else f"seed {seed}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is adopted, and both answers stay."""
        return action not in ("adopt", "keep") and super().check_action(action, parameters)
