"""The options of `workbench` without a command."""

from __future__ import annotations

import argparse
from importlib.metadata import version

from workbench.cli.commands import COMMANDS
from workbench.cli.parsing import file_name
from workbench.cli.program import open_screen
from workbench.cli.request_options import add_endpoint_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options, and the list of commands to the help."""
    commands = "\n".join(f"  {name:<10}{command.help}" for name, command in COMMANDS.items())
    parser.epilog = f"commands without a screen (workbench COMMAND --help):\n{commands}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        default=argparse.SUPPRESS,
        help="show the version and exit",
    )
    parser.add_argument(
        "session",
        type=file_name,
        nargs="?",
        metavar="SESSION.toml",
        help="a session file to open (default: the last one)",
    )
    parser.add_argument(
        "--demo", action="store_true", help="play a recorded run, with no engine and no network"
    )
    add_endpoint_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Open the screen and return the exit status."""
    return open_screen(vars(arguments))


class _Version(argparse.Action):
    """Prints the version; looked up only on use, because that reads the installed packages."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: object = None
    ) -> None:
        print(f"workbench {version('completion-workbench')}")
        parser.exit()
