"""`workbench serve`: the local server in this process."""

from __future__ import annotations

import argparse

from workbench.cli.parsing import add_options
from workbench.domain.endpoint import SERVE_PORT
from workbench.local.options import ServeOptions
from workbench.local.serve import run_server

_OPTIONS = """
--host HOST         address to listen on (default: %(default)s)
--port PORT         port; 0 takes a free one (default: %(default)s)
--model FILE        a GGUF file (default: the embedded model)
--api-key-env NAME  environment variable that holds the required API key
--cors ORIGIN...    let web pages of this origin read answers, such as http://localhost:3000; may be
    repeated
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_options(parser, _OPTIONS, host={"default": "127.0.0.1"}, port={"type": int, "default": SERVE_PORT})


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; returns the exit status."""
    return run_server(
        ServeOptions(
            host=arguments.host,
            port=arguments.port,
            model=arguments.model,
            api_key_env=arguments.api_key_env,
            cors=tuple(arguments.cors),
        )
    )
