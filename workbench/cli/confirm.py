"""Show the cost of requests before they are sent, and ask for confirmation if it is high."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from workbench.cli.messages import print_message
from workbench.storage.config import load_config
from workbench.storage.files import Folders
from workbench.workspace.costs import Cost


def add_yes_option(parser: argparse._ActionsContainer) -> None:
    """Add `--yes`."""
    parser.add_argument("--yes", action="store_true", help="send without asking for confirmation")


def is_agreed(cost: Cost, *, sure: bool) -> bool:
    """Whether to send the requests; prints the cost of anything but a single plain request.

    Asks for confirmation above the configured `confirm_above`, unless `sure` or not on a terminal.
    """
    if not cost.requests:
        return True
    limit = load_config(Folders.default(os.environ)).config.confirm_above
    must_ask = cost.must_be_confirmed(limit) and not sure and sys.stdin.isatty()
    if must_ask or not cost.is_plain:
        print_message(str(cost))
    if not must_ask:
        return True
    print("Send? [y/N] ", end="", file=sys.stderr, flush=True)
    # An event loop's handler would only set a flag on Ctrl+C, and not interrupt reading the line.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    finally:
        signal.signal(signal.SIGINT, handler)
