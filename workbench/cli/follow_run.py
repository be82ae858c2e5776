"""Following one run from the command line: printing it, keeping it, and ending it with a signal."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress

from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import Printer, print_failure, print_json, run_to_json
from workbench.domain.display import visible
from workbench.domain.run import Outcome, Run
from workbench.runner.status import Phase, Status
from workbench.workspace.keeper import Keeper


async def follow(
    one: Run, launching: Coroutine[None, None, None], keeper: Keeper | None, *, quiet: bool
) -> None:
    """Print what comes of a run and keep it, until it is over; a signal to end stops it."""
    task = asyncio.create_task(launching)
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # Not every system has every signal.
        if hasattr(signal, name):
            loop.add_signal_handler(getattr(signal, name), task.cancel)
    keeping = None
    if keeper is not None:
        keeper.began(one)
        keeping = asyncio.create_task(keeper.watch())
    printer = None if quiet else Printer(one)
    try:
        if printer is not None:
            following = asyncio.create_task(printer.follow())
            await asyncio.wait({task, following}, return_when=asyncio.FIRST_COMPLETED)
            if following.done() and (failed := following.exception()) is not None:
                raise failed
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        with suppress(asyncio.CancelledError):
            await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if keeper is not None and keeping is not None:
            keeping.cancel()
            keeper.ended(one)
            await keeper.settle()
    if printer is not None:
        printer.finish()


def report(one: Run, *, as_json: bool) -> ExitStatus:
    """Print what the text of a run that is over does not show, or all of it as JSON."""
    if as_json:
        print_json(run_to_json(one))
    else:
        for note in one.notes:
            print(f"workbench: {visible(note)}", file=sys.stderr)
    if one.error is not None:
        print_failure(one.error)
    if one.outcome is Outcome.STOPPED:
        return ExitStatus.INTERRUPTED
    return ExitStatus.OK if one.outcome in (Outcome.COMPLETE, Outcome.UNFINISHED) else ExitStatus.FAILED


def tell(status: str) -> None:
    """Print on a terminal what happens before the first token."""
    if status and sys.stderr.isatty():
        print(f"workbench: {visible(status)}", file=sys.stderr)


def tell_status(status: Status) -> None:
    """Print on a terminal a run's status before its first token; waiting is reported everywhere."""
    if status.phase is Phase.RETRYING:
        print(f"workbench: {visible(str(status))}", file=sys.stderr, flush=True)
    else:
        tell(str(status))
