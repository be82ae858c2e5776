"""Messages to the user on standard error, without control characters."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from workbench.domain.display import visible


def print_message(text: str, prefix: str = "workbench: ") -> None:
    """Print a message."""
    print(f"{prefix}{visible(text)}", file=sys.stderr, flush=True)


def print_notes(notes: Iterable[str], prefix: str = "note: ") -> None:
    """Print notes on answers or files, one per line."""
    for note in notes:
        print_message(note, prefix)
