"""`workbench`: open the screen."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from workbench.cli import garbage
from workbench.cli.arguments import add_endpoint_options
from workbench.cli.commands import COMMANDS
from workbench.cli.parsing import Parser, file_name, refusing
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services


def run(arguments: Sequence[str]) -> int:
    """Open the workbench; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    with refusing(parser):
        services = Services.open(dict(os.environ), options.endpoint or "", options.api_key_env, options.model)
        session = _session(options.session)
        if not os.isatty(2):
            # A pipe that nobody reads would hold the screen up for good.
            hint = "Commands without a screen need none, such as `workbench run`."
            raise BadValueError("The screen needs a terminal", "It draws on standard error.", hint)
    app = Started(services, session, _demo() if options.demo else None)
    app.run()
    return app.return_code or 0


class Started(WorkbenchApp):
    """The workbench as the whole of a process, whose garbage it collects from the first paint on."""

    def on_ready(self) -> None:
        """Begin to collect what is dropped."""
        garbage.begin()
        self.set_interval(garbage.SECONDS, self._collect)

    def _collect(self) -> None:
        if not self.workspace.runs.is_streaming:
            garbage.collect_what_is_due()


def _session(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name).absolute()
    if not path.is_file():
        raise BadValueError(f"{name!r} is neither a session file nor a command (workbench --help lists them)")
    return path


def _demo() -> Run:
    # Only the demonstration needs to read a session before the first paint.
    from workbench.storage.session_file import load_demo

    return load_demo()


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for, as that reads the installed packages."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: object = None
    ) -> None:
        from importlib.metadata import version

        print(f"workbench {version('completion-workbench')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:<10}{command.help}" for name, command in COMMANDS.items())
    parser = Parser(
        "workbench",
        description="A workbench for LLM text completions, on the embedded model by default.",
        epilog=f"commands without a screen (workbench COMMAND --help):\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
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
    return parser
