"""Playing a recorded run again."""

from __future__ import annotations

from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.tui.compare.flow import refuse_running
from workbench.tui.flows import FlowContext
from workbench.tui.replay.screen import ReplayScreen


async def replay(flow: FlowContext) -> None:
    """Play the answer's run again, offline, at its recorded pace."""
    if (answer := flow.workspace.runs.one_answer()) is None:
        return
    run = answer[0]
    refuse_running(run)
    if not run.tokens:
        raise BadValueError("The run has no tokens", hint="Nothing to replay.")
    number = flow.workspace.runs.index(run) + 1
    await flow.ask(ReplayScreen(run, number=number, mode=flow.mode))


async def play_demo(flow: FlowContext, run: Run) -> None:
    """Play a run that no session holds."""
    await flow.ask(ReplayScreen(run))
