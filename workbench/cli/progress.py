"""How far the work of many requests has come, as a bar on standard error."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar(noun: str, total: int, done: int = 0) -> Progress:
    """A bar with one task, drawn only on a terminal; what its `console` prints comes above it."""
    console = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=not sys.stderr.isatty())
    bar.add_task(noun, total=total, completed=done)
    return bar
