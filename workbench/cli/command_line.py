"""Parse a command line with arguments: a command and its options, or the screen's options."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from workbench.cli.commands import COMMANDS, SCREEN
from workbench.cli.parsing import Parser, refusing


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit status. Raises SystemExit for an invalid argument."""
    command, name, rest = COMMANDS.get(arguments[0]), f"workbench {arguments[0]}", arguments[1:]
    if command is None:
        command, name, rest = SCREEN, "workbench", arguments
    parser = Parser(name, command.help)
    module = import_module(command.module)
    module.configure(parser)
    with refusing(parser):
        status: int = module.run(parser.parse_args(rest))
    return status
