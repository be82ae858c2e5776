"""The command line: opens the screen or runs a command."""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERRUPTED = 130


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line and return the exit status."""
    try:
        # Imported late, so that Ctrl+C ends the program quietly from its first moment on.
        status: int = import_module("workbench.cli.program").run(argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status
