"""Save the session, open another one, or begin a new one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from workbench.domain.display import one_line
from workbench.storage.sessions_folder import Library
from workbench.tui.compare.flow import compare_session
from workbench.tui.flows import FlowContext
from workbench.tui.popups.question import LinePopup
from workbench.tui.sessions.screen import SessionsScreen


async def save(flow: FlowContext) -> None:
    """Ask for the session's name and save it."""
    keeper = flow.workspace.keeper
    name = await flow.ask(LinePopup("Save session as", "" if keeper.title == "untitled" else keeper.title))
    if name is None:
        return
    if await flow.workspace.save_as(name):
        where = one_line(str(keeper.path), 160)
        flow.app.notify(f"Saved as {keeper.title} in {where}", timeout=8)


async def sessions(flow: FlowContext) -> None:
    """List the sessions, and open or compare the one chosen."""
    chosen = await flow.ask(SessionsScreen(Library(flow.services.folders), flow.workspace.keeper.path))
    if chosen is None:
        return
    if chosen.is_compared:
        await compare_session(flow, chosen.path)
    else:
        await open_session(flow, chosen.path)


async def open_session(flow: FlowContext, path: Path) -> None:
    """Open another session; the open one stays saved."""
    if _may_leave(flow):
        await flow.workspace.open(path, partial(_may_leave, flow))


async def new(flow: FlowContext) -> None:
    """Begin a new session; the open one stays saved."""
    if _may_leave(flow):
        flow.workspace.begin_session()


def _may_leave(flow: FlowContext) -> bool:
    """Return whether another session can be opened; if a run or another flow is under way, show which."""
    if flow.workspace.runs.is_streaming:
        flow.warn("Stop the stream first.", "Session")
    elif not flow.is_alone:
        flow.warn("Finish what is under way first.", "Session")
    else:
        return True
    return False
