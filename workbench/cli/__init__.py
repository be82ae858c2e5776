"""The command line: parses, then hands over to the screen or to a command without one."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from workbench.cli import garbage
from workbench.cli.commands import COMMANDS
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.parsing import Parser, refusing, use_utf8
from workbench.domain.errors import WorkbenchError

_INSTALL = """In a checkout this installs it and opens the workbench:
    python3 -m pip install -q --target .uv uv && .uv/bin/uv run workbench
Elsewhere: pip install --upgrade completion-workbench"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    if argv is None:
        use_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        command = COMMANDS.get(arguments[0]) if arguments else None
        if command is None:
            return _open_screen(arguments)
        module = importlib.import_module(command.module)
        parser = Parser(f"workbench {arguments[0]}", command.help)
        module.configure(parser)
        with refusing(parser):
            status: int = module.run(parser.parse_args(arguments[1:]))
        return status
    except WorkbenchError as error:
        print_message(str(error))
        return ExitStatus.FAILED
    except ImportError as error:
        if (error.name or "").startswith("workbench"):
            raise
        print_message(f"A package that the workbench needs is missing or out of date: {error}.\n{_INSTALL}")
        return ExitStatus.FAILED
    except BrokenPipeError:
        # The reader is gone; point the descriptor elsewhere so that the interpreter's last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    except OSError as error:
        # What a system refuses of any file, such as a name that is too long.
        print_message(": ".join(map(str, filter(None, (error.filename, error.strerror)))) or str(error))
        return ExitStatus.FAILED
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED


SCREEN_RATE = ("TEXTUAL_FPS", "120")
"""The variable, read when Textual is imported, that says how often a second what has changed is drawn.

A key waits half of such a turn for its frame; turns without a change cost nothing, so that the pace at which
tokens are shown stays what the main screen makes it.
"""


def _open_screen(arguments: Sequence[str]) -> int:
    os.environ.setdefault(*SCREEN_RATE)
    with garbage.held():
        # The screen's imports are only paid for by those who open it.
        opened: int = importlib.import_module("workbench.cli.screen").run(arguments)
    return opened
