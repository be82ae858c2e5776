"""Messages to the user on standard error, without control characters."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workbench.domain.display import visible
from workbench.domain.errors import StorageError, WorkbenchError

if TYPE_CHECKING:
    from workbench.domain.run import Failure


def print_message(text: str, prefix: str = "workbench: ") -> None:
    """Print a message."""
    print(f"{prefix}{visible(text)}", file=sys.stderr, flush=True)


def print_failure(failure: WorkbenchError | Failure) -> None:
    """Print an error or the failure of a run, each part of it on lines of its own."""
    title = failure.title_with_path if isinstance(failure, StorageError) else failure.title
    for part in (title, failure.message, failure.hint):
        for line in part.splitlines():
            print_message(line)


def print_notes(notes: Iterable[str], prefix: str = "note: ") -> None:
    """Print notes on answers or files, one per line."""
    for note in notes:
        print_message(note, prefix)
