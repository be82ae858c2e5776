"""The re-run screen: a recorded answer beside the one that streams now, compared token by token."""

from __future__ import annotations

from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.compare.screen import CompareScreen
from workbench.workspace.rerun import Rerun


class RerunScreen(CompareScreen, inherit_bindings=False):
    """A comparison of a run with itself; there is nothing to adopt, as the parameters are the same."""

    BINDINGS = bindings_at(Where.EVERYWHERE, Where.RERUN)
    heading = "Re-run"
    where = Where.RERUN

    def __init__(self, rerun: Rerun) -> None:
        seed = rerun.recorded.request.parameters.get("seed")
        super().__init__(rerun, "no seed" if seed is None else f"seed {seed}")
