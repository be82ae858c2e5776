"""`python -m workbench.local`: the local server as a separate program."""

from __future__ import annotations

import argparse
import sys

from workbench.domain.display import visible
from workbench.domain.errors import EngineError
from workbench.local.model_file import find_model, model_name, require_engine
from workbench.local.options import ServeOptions

NAME_ONLY = "--print-model-name"
"""The option to print the name of the model that would be served, and exit."""


def parse_options(argv: list[str]) -> ServeOptions:
    """Parse the arguments; exits with status 2 if they are invalid."""
    default = ServeOptions()
    parser = argparse.ArgumentParser("workbench serve", description="Serve the embedded model on loopback.")
    parser.add_argument(
        "--host", default=default.host, help="the address to bind; needs a key beyond loopback"
    )
    parser.add_argument("--port", type=int, default=default.port, help="the port to bind; 0 takes a free one")
    parser.add_argument("--model", metavar="FILE", help="a GGUF file in place of the embedded model")
    parser.add_argument("--api-key-env", metavar="NAME", help="the variable that holds the key to ask for")
    parser.add_argument(
        "--watch-parent",
        dest="parent_watch",
        action="store_true",
        help="end with the process that started this",
    )
    parser.add_argument("--slots", type=_positive, default=default.slots, help="choices generated at once")
    parser.add_argument("--context", type=_positive, default=default.context, help="tokens for each choice")
    parser.add_argument(
        "--cors", metavar="ORIGIN", action="append", default=[], help="a page's origin to let in"
    )
    given = vars(parser.parse_args(argv))
    return ServeOptions(**{**given, "cors": tuple(given["cors"])})


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main(argv: list[str]) -> int:
    """Serve, or only print the model's name, and return the exit status."""
    options = parse_options([argument for argument in argv if argument != NAME_ONLY])
    try:
        path = find_model(options.model)
        if NAME_ONLY in argv:
            sys.stdout.write(f"{model_name(path)}\n")
            return 0
        require_engine()
    except EngineError as problem:
        sys.stderr.write(f"{visible(str(problem))}\n")
        return 1
    # Imported late: the engine and the web server are slow to import, and the name needs neither.
    from workbench.local.serve import run_server

    return run_server(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
