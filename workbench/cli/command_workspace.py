"""The workspace of a command: its endpoint, the session that it keeps runs in, and following its run."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message, print_notes
from workbench.cli.output import INTERVAL, Printer, print_failure, print_json, run_to_json
from workbench.cli.session_files import open_for_writing
from workbench.domain.endpoint import LOCAL
from workbench.domain.run import Outcome, Run
from workbench.runner.status import Phase
from workbench.workspace.keeper import Keeper
from workbench.workspace.notifications import Notification, StatusChanged
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

T = TypeVar("T")


def services_of(arguments: argparse.Namespace) -> Services:
    """What the options of `add_endpoint_options` name. Raises BadValueError for an unknown endpoint."""
    return open_services(arguments.endpoint or LOCAL, arguments.api_key_env, arguments.model)


def open_services(endpoint: str = LOCAL, api_key_env: str | None = None, model: str = "") -> Services:
    """The person's files; prints what is wrong with them. Raises BadValueError for an unknown endpoint."""
    services = Services.open(dict(os.environ), endpoint, api_key_env, model)
    print_notes(map(str, services.problems), "workbench: ")
    return services


@contextmanager
def open_workspace(services: Services, session: str | None) -> Iterator[Workspace]:
    """A workspace on a session file; without one, on a session that is kept nowhere.

    Raises what `open_for_writing` raises.
    """
    if session:
        with open_for_writing(session) as keeper:
            yield Workspace(services, keeper)
    else:
        yield Workspace(services, Keeper(services.folders.data / "sessions", enabled=False))


def run_in(workspace: Workspace, doing: Coroutine[Any, Any, T]) -> T:
    """Do something in a workspace, then close its connections; what streams is kept meanwhile."""

    async def do() -> T:
        async with aclosing(workspace.services.connections):
            keeping = asyncio.create_task(workspace.keeper.watch())
            try:
                return await doing
            finally:
                keeping.cancel()

    return asyncio.run(do())


def stop_on_signals(stop: Callable[[], object], *more: str) -> None:
    """Call `stop` on Ctrl+C, on SIGTERM and on the signals named, where the system has them."""
    for name in ("SIGINT", "SIGTERM", *more):
        if hasattr(signal, name):
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), stop)


async def follow(workspace: Workspace, run: Run, *, quiet: bool) -> None:
    """Print what comes of the run that streams, until it is over and kept; a signal to end stops it."""
    stop_on_signals(workspace.runs.stop, "SIGHUP")
    workspace.subscribe(_print_status)
    activity, printer = workspace.runs.activity, Printer(run)
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


def report(run: Run, *, as_json: bool) -> ExitStatus:
    """Print what the text of a run that is over does not show, or all of it as JSON."""
    if as_json:
        print_json(run_to_json(run))
    else:
        print_notes(run.notes, "workbench: ")
    if run.error is not None:
        print_failure(run.error)
    if run.outcome is Outcome.STOPPED:
        return ExitStatus.INTERRUPTED
    return ExitStatus.OK if run.is_answered else ExitStatus.FAILED


def _print_status(notification: Notification) -> None:
    """Print on a terminal a run's status before its first token; waiting is reported everywhere."""
    if isinstance(notification, StatusChanged) and (message := str(notification.status)):
        is_waiting = notification.status.phase is Phase.RETRYING
        if is_waiting or sys.stderr.isatty():
            print_message(message)
