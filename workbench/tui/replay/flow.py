"""Replay a recorded run."""

from __future__ import annotations

from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.tui.flows import FlowContext
from workbench.tui.replay.screen import ReplayScreen
from workbench.workspace.runs import refuse_running


async def replay(flow: FlowContext) -> None:
    """Replay the run under the cursor, else the newest one, offline at its recorded pace.

    Raises BadValueError if it still streams or has no tokens.
    """
    if (answer := flow.workspace.runs.one_answer()) is None:
        return
    run = answer[0]
    refuse_running(run)
    if not run.tokens:
        raise BadValueError("The run has no tokens", hint="Nothing to replay.")
    await flow.ask(ReplayScreen(run, f"run {flow.workspace.runs.index(run) + 1}", flow.mode))


async def play_demo(flow: FlowContext, run: Run) -> None:
    """Replay a run that is not in the session."""
    await flow.ask(ReplayScreen(run, "run 1"))
