"""Shared parts of commands that send many requests: options, progress, and stopping by Ctrl+C."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from workbench.cli.command_workspace import run_in, stop_on_signals
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message, print_notes
from workbench.cli.parsing import file_name, positive
from workbench.domain.display import visible
from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Run
from workbench.runner.compare_plan import Column, adding, ignored, probes_of
from workbench.runner.many_runs import Job
from workbench.runner.run_status import Phase
from workbench.workspace.costs import cost_of_jobs
from workbench.workspace.grid import Grid, Layout
from workbench.workspace.notifications import Notification, RunsAdded, StatusChanged
from workbench.workspace.workspace import Workspace


def add_batch_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for request limits, session, confirmation and output."""
    group = parser.add_argument_group("requests")
    group.add_argument("--concurrency", type=positive, metavar="N", help="maximum concurrent requests")
    group.add_argument(
        "--requests-per-minute", type=positive, metavar="N", help="maximum requests per minute"
    )
    group.add_argument(
        "--session", type=file_name, metavar="FILE", help="keep every run in this session file"
    )
    add_yes_option(group)
    group.add_argument("--json", action="store_true", help="print JSON instead of a table")


def execute_batch(workspace: Workspace, jobs: Sequence[Job], arguments: argparse.Namespace) -> bool:
    """Send all requests with a progress bar on standard error, and return whether a signal stopped them.

    Runs that already have an outcome are not sent. The session stores every sent run, even if stopped.
    """
    return run_in(workspace, send_jobs(workspace, jobs, arguments))


async def send_jobs(workspace: Workspace, jobs: Sequence[Job], arguments: argparse.Namespace) -> bool:
    """Send all requests like `execute_batch`, on the running event loop."""
    waiting = [job for job in jobs if job.run.is_running]
    if not waiting:
        return False
    columns = [
        Column("", _within(job.endpoint, arguments), "", job.run.request.parameters) for job in waiting
    ]
    layout = Layout("", "", "", tuple(job.run.id for job in waiting), ("",))
    grid = Grid(workspace, layout, columns, [job.run for job in waiting])
    with progress_bar("requests", len(grid.runs)) as bar:

        def show_progress(notification: Notification) -> None:
            match notification:
                case RunsAdded(runs):
                    bar.advance(bar.task_ids[0], len(runs))
                case StatusChanged(_, status) if status.phase is Phase.RETRYING:
                    bar.console.print(f"workbench: {visible(str(status))}", soft_wrap=True)

        workspace.subscribe(show_progress)
        stop_on_signals(grid.stop)
        grid.start()
        return not await grid.wait()


def announce(
    workspace: Workspace, columns: Sequence[Column], jobs: Sequence[Job], arguments: argparse.Namespace
) -> bool:
    """Print ignored differences, the number of answered requests and the cost; return whether to send."""
    print_notes(ignored(columns, probes_of(workspace.services.folders, columns)))
    if answered := sum(not job.run.is_running for job in jobs):
        line = f"{answered} of {len(jobs)} requests are answered already in {arguments.session}"
        print_message(line)
    return is_agreed(cost_of_jobs(jobs), sure=arguments.yes)


def with_logprobs(columns: Sequence[Column]) -> list[Column]:
    """Request logprobs, which perplexity needs, in all columns that can, and print a note if any changes."""
    asking = [
        column if "logprobs" in column.endpoint.drop else adding(column, "logprobs", 1) for column in columns
    ]
    if asking != columns:
        print_notes(["logprobs = 1 was added to the requests, as perplexity and mean logprob need it"])
    return asking


def batch_status(runs: Sequence[Run], interrupted: bool) -> int:
    """Return the exit status: 130 if interrupted, 1 if a run failed, else 0."""
    if interrupted:
        return ExitStatus.INTERRUPTED
    failed = any(not run.is_answered for run in runs)
    return ExitStatus.FAILED if failed else ExitStatus.OK


def _within(endpoint: Endpoint, arguments: argparse.Namespace) -> Endpoint:
    """Return the endpoint with its request limits replaced by those of the options."""
    if arguments.concurrency is not None:
        endpoint = endpoint._replace(concurrency=arguments.concurrency)
    if arguments.requests_per_minute is not None:
        endpoint = endpoint._replace(requests_per_minute=arguments.requests_per_minute)
    return endpoint


def progress_bar(noun: str, total: int, done: int = 0) -> Progress:
    """Return a progress bar with one task, drawn only on a terminal; its `console` prints above it."""
    console = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=not sys.stderr.isatty())
    bar.add_task(noun, total=total, completed=done)
    return bar
