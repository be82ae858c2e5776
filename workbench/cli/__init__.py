"""The command line: parses, then hands over to the screen or to a command without one."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper

from workbench.cli import garbage
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.domain.display import sentences
from workbench.domain.errors import BadValueError, WorkbenchError

_INSTALL = """In a checkout this installs it and opens the workbench:
    python3 -m pip install -q --target .uv uv && .uv/bin/uv run workbench
Elsewhere: pip install --upgrade completion-workbench"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    if argv is None:
        _use_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if not arguments:
            return open_screen({})
        # Parsing takes a fiftieth of the start, and a plain one has nothing to parse.
        status: int = importlib.import_module("workbench.cli.command_line").run(arguments)
        return status
    except BadValueError as problem:
        # Of a start without arguments: any others are refused by their parser.
        print_message(sentences(problem.title, problem.message, problem.hint), "workbench: error: ")
        return ExitStatus.BAD_ARGUMENTS
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


def open_screen(options: Mapping[str, object]) -> int:
    """Open the screen with the options that differ from a plain start; returns the exit status."""
    os.environ.setdefault(*SCREEN_RATE)
    with garbage.held():
        # The screen's imports are only paid for by those who open it.
        opened: int = importlib.import_module("workbench.cli.screen").run(**options)
    return opened


def _use_utf8() -> None:
    """Start this process again in Python's UTF-8 mode where the locale would read its arguments otherwise.

    The standard streams are UTF-8 too, whatever the environment says; one that is closed leads nowhere.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            # Else the next file that is opened gets its number, and what is meant for it.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
