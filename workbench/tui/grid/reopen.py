"""Opening a comparison, a sweep or a prompt set of the session again from its saved runs."""

from __future__ import annotations

from workbench.domain.run_group import GroupKind, RunGroup
from workbench.runner.saved_runs import SavedRun
from workbench.tui.compare.flow import compare_saved, show_under_way
from workbench.tui.flows import FlowContext
from workbench.tui.grid.screen import GridScreen
from workbench.workspace.comparison import LEAST_COLUMNS, MOST_COLUMNS
from workbench.workspace.grid import Grid
from workbench.workspace.saved_grid import newest_answers, saved_grid


async def reopen(flow: FlowContext, group: RunGroup) -> None:
    """Show a comparison as columns and all else as a grid; nothing is sent until a person asks for it."""
    runs = newest_answers(group)
    if group.kind is GroupKind.COMPARISON and LEAST_COLUMNS <= len(runs) <= MOST_COLUMNS:
        await compare_saved(flow, [SavedRun(run.preset or "current settings", run) for run in runs])
        return
    saved = saved_grid(group, flow.services.endpoints)
    grid = Grid(flow.workspace, saved.layout, saved.columns, saved.runs)
    await show_under_way(flow, grid, GridScreen(grid))
