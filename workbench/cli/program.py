"""Run the command line: convert errors to messages and exit statuses."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper

from workbench.cli import garbage_collection
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_failure, print_message
from workbench.domain.errors import BadValueError, WorkbenchError

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_INSTALL = """In a checkout this installs it and opens the workbench:
    python3 -m pip install -q --target .uv uv && .uv/bin/uv run workbench
Elsewhere: pip install --upgrade completion-workbench"""


def run(argv: Sequence[str] | None) -> int:
    """Run the command line, by default that of this process, and return the exit status."""
    if argv is None:
        _use_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if not arguments:
            return open_screen({})
        # Imported only if there are arguments: loading the parser takes 2 % of the start.
        status: int = importlib.import_module("workbench.cli.command_line").run(arguments)
        return status
    except BadValueError as problem:
        # Raised only without arguments; otherwise the parser reports it.
        print_message(problem.paragraph, "workbench: error: ")
        return ExitStatus.BAD_ARGUMENTS
    except WorkbenchError as error:
        print_failure(error)
        return ExitStatus.FAILED
    except ImportError as error:
        if (error.name or "").startswith("workbench"):
            raise
        print_message(f"A package that the workbench needs is missing or out of date: {error}.\n{_INSTALL}")
        return ExitStatus.FAILED
    except BrokenPipeError:
        # The reader has closed the pipe; redirect stdout so that the interpreter's final flush does not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    except OSError as error:
        # Any file error that is not converted earlier, such as a name that is too long. Only standard output
        # has no name.
        where = error.filename or ("standard output" if error.errno in _NO_SPACE else None)
        print_message(": ".join(map(str, filter(None, (where, error.strerror)))) or str(error))
        return ExitStatus.FAILED


SCREEN_RATE = ("TEXTUAL_FPS", "120")
"""The environment variable, read when Textual is imported, that sets the maximum frames per second.

A key press waits half a frame on average before it is drawn. Frames without changes cost nothing, so the
main screen still determines how often streamed tokens are drawn.
"""


def open_screen(options: Mapping[str, object]) -> int:
    """Open the screen with the non-default options, and return the exit status."""
    os.environ.setdefault(*SCREEN_RATE)
    with garbage_collection.held():
        # Imported late: commands without a screen do not need it.
        opened: int = importlib.import_module("workbench.cli.screen").run(**options)
    return opened


def _use_utf8() -> None:
    """Restart this process in Python's UTF-8 mode if the file system encoding is not UTF-8.

    The standard streams are set to UTF-8 too; closed ones are redirected to the null device.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            # Otherwise the next opened file would get this descriptor, and the stream's output.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
