"""Following one run from the command line: printing it, and ending it with a signal."""

from __future__ import annotations

import sys

from workbench.cli.command_workspace import stop_on_signals
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message, print_notes
from workbench.cli.output import INTERVAL, Printer, print_failure, print_json, run_to_json
from workbench.domain.run import Outcome, Run
from workbench.runner.status import Phase
from workbench.workspace.notifications import Notification, StatusChanged
from workbench.workspace.workspace import Workspace


async def follow(workspace: Workspace, one: Run, *, quiet: bool) -> None:
    """Print what comes of the run that streams, until it is over and kept; a signal to end stops it."""
    stop_on_signals(workspace.runs.stop, "SIGHUP")
    workspace.subscribe(_print_status)
    activity, printer = workspace.runs.activity, Printer(one)
    try:
        while activity.is_running:
            if not quiet:
                printer.pull()
            await activity.wait(INTERVAL)
    finally:
        await activity.aclose()
        await workspace.keeper.settle()
    if not quiet:
        printer.finish()


def report(one: Run, *, as_json: bool) -> ExitStatus:
    """Print what the text of a run that is over does not show, or all of it as JSON."""
    if as_json:
        print_json(run_to_json(one))
    else:
        print_notes(one.notes, "workbench: ")
    if one.error is not None:
        print_failure(one.error)
    if one.outcome is Outcome.STOPPED:
        return ExitStatus.INTERRUPTED
    return ExitStatus.OK if one.is_answered else ExitStatus.FAILED


def _print_status(notification: Notification) -> None:
    """Print on a terminal a run's status before its first token; waiting is reported everywhere."""
    if isinstance(notification, StatusChanged) and (words := str(notification.status)):
        is_waiting = notification.status.phase is Phase.RETRYING
        if is_waiting or sys.stderr.isatty():
            print_message(words)
