"""`workbench serve`: run the local server in this process."""

from __future__ import annotations

import argparse

from workbench.cli.parsing import file_name, port_number
from workbench.domain.endpoint import SERVE_PORT
from workbench.local.options import ServeOptions
from workbench.local.serve import run_server


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=port_number, default=SERVE_PORT, help="port; 0 takes a free one (default: %(default)s)"
    )
    parser.add_argument(
        "--model", type=file_name, metavar="FILE", help="a GGUF file (default: the embedded model)"
    )
    parser.add_argument(
        "--api-key-env", metavar="NAME", help="environment variable that holds the required API key"
    )
    parser.add_argument(
        "--cors",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="let web pages of this origin read answers, such as http://localhost:3000; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted and return the exit status."""
    return run_server(
        ServeOptions(
            host=arguments.host,
            port=arguments.port,
            model=arguments.model,
            api_key_env=arguments.api_key_env,
            cors=tuple(arguments.cors),
        )
    )
