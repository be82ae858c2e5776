"""The workspace of a command: its services, its session, and the output of its run."""

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
from workbench.cli.messages import print_failure, print_message, print_notes
from workbench.cli.output import INTERVAL, Printer, print_json, run_to_json
from workbench.cli.session_files import open_for_writing
from workbench.domain.endpoint import LOCAL
from workbench.domain.run import Outcome, Run
from workbench.runner.run_status import Phase
from workbench.workspace.keeper import Keeper
from workbench.workspace.notifications import Notification, StatusChanged
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

T = TypeVar("T")


def services_of(arguments: argparse.Namespace) -> Services:
    """Open services by the options of `add_endpoint_options`. Raises as `open_services` does."""
    return open_services(arguments.endpoint or LOCAL, arguments.api_key_env, arguments.model)


def open_services(endpoint: str = LOCAL, api_key_env: str | None = None, model: str = "") -> Services:
    """Open services and print problems in the user's files. Raises BadValueError for an unknown endpoint."""
    services = Services.open(dict(os.environ), endpoint, api_key_env, model)
    for problem in services.problems:
        print_failure(problem)
    return services


@contextmanager
def open_workspace(services: Services, session: str | None) -> Iterator[Workspace]:
    """Open a workspace on a session file, or on an unsaved session. Raises as `open_for_writing` does."""
    if session:
        with open_for_writing(session) as keeper:
            yield Workspace(services, keeper)
    else:
        yield Workspace(services, Keeper(services.folders.data / "sessions", enabled=False))


def run_in(workspace: Workspace, doing: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop with the workspace's keeper, then close its connections."""

    async def do() -> T:
        async with aclosing(workspace.services.connections):
            keeping = asyncio.create_task(workspace.keeper.watch())
            try:
                return await doing
            finally:
                keeping.cancel()

    return asyncio.run(do())


def stop_on_signals(stop: Callable[[], object], *more: str) -> None:
    """Call `stop` on SIGINT, SIGTERM and the signals `more`, if the system has them."""
    for name in ("SIGINT", "SIGTERM", *more):
        if hasattr(signal, name):
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), stop)


async def follow(workspace: Workspace, run: Run, *, quiet: bool) -> None:
    """Print the streaming run until it has ended and is saved; SIGINT, SIGTERM and SIGHUP stop it."""
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
    """Print a finished run's notes and error, or all of it as JSON; return the exit status."""
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
    """Print a run's status: retries always, any other status only on a terminal."""
    if isinstance(notification, StatusChanged) and (message := str(notification.status)):
        is_waiting = notification.status.phase is Phase.RETRYING
        if is_waiting or sys.stderr.isatty():
            print_message(message)
