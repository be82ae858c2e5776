"""Work of many requests on the command line: a bar on standard error, and an end by a signal."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar(noun: str, total: int, done: int = 0) -> Progress:
    """A bar with one task, drawn only on a terminal; what its `console` prints comes above it."""
    console = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=not sys.stderr.isatty())
    bar.add_task(noun, total=total, completed=done)
    return bar


def stop_on_signals(stop: Callable[[], object], *more: str) -> None:
    """Call `stop` on Ctrl+C, on SIGTERM and on the signals named, where the system has them."""
    for name in ("SIGINT", "SIGTERM", *more):
        if hasattr(signal, name):
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), stop)
