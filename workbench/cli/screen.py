"""`workbench`: open the screen."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib.metadata import version

from workbench.cli.arguments import add_endpoint_options
from workbench.cli.commands import COMMANDS
from workbench.domain.errors import BadValueError
from workbench.tui.app import WorkbenchApp
from workbench.tui.services import Services


def run(arguments: Sequence[str]) -> int:
    """Open the workbench; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        services = Services.open(dict(os.environ), options.endpoint or "", options.api_key_env, options.model)
    except BadValueError as problem:
        parser.error(f"{problem.title}. {problem.hint}".strip())
    return WorkbenchApp(services).run() or 0


def _parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:<10}{command.help}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        "workbench",
        description="A workbench for LLM text completions, on the embedded model unless told otherwise.",
        epilog=f"commands without a screen (workbench COMMAND --help):\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"workbench {version('completion-workbench')}")
    add_endpoint_options(parser)
    return parser
