"""Saying what requests may cost before they are sent, and asking where that is much."""

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
    """Whether to send; says what more than one plain request may cost.

    Asks above `confirm_above` of the configuration, where a person can answer and is not `sure`.
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
    # On an event loop Ctrl+C would only be noted, and the line still be waited for.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    finally:
        signal.signal(signal.SIGINT, handler)
