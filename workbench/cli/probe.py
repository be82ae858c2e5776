"""`workbench probe`: find out which fields an endpoint honours, ignores and refuses."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import aclosing, suppress

from workbench.cli.command_workspace import services_of
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.output import print_json
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.probe_findings import Probe
from workbench.runner.connections import Connections
from workbench.runner.endpoint_probe import MOST_REQUESTS, MOST_TOKENS, Probing
from workbench.storage.probes import load_probe, save_probe


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("endpoint", metavar="ENDPOINT", help="an endpoint's name or base URL")
    parser.add_argument("--model", default="", help="model (default: the profile's)")
    parser.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the key")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def run(arguments: argparse.Namespace) -> int:
    """Probe, save and print the findings, and return the exit status.

    Raises EndpointError if the endpoint answers nothing, StorageError if the findings cannot be saved.
    """
    services = services_of(arguments)
    endpoint, folders = services.endpoint, services.folders
    address = one_line(endpoint.address, 80) or endpoint.name
    most = f"at most {MOST_REQUESTS} requests of at most {MOST_TOKENS} tokens a choice"
    print_message(f"Sending {most} to {address}.", "")
    found = asyncio.run(_probe(services.connections, endpoint, arguments.model))
    if found.findings:
        found = found.over(load_probe(folders, endpoint.name))
        save_probe(folders, found)
    if arguments.json:
        print_json(found.to_json())
    elif found.findings:
        print(found.table())
    return ExitStatus.INTERRUPTED if found.is_partial else ExitStatus.OK


async def _probe(connections: Connections, endpoint: Endpoint, model: str) -> Probe:
    """Run the probe; a partial one if stopped by Ctrl+C."""
    async with aclosing(connections):
        probing = Probing(connections, endpoint, model, on_request=_announce)
        with suppress(asyncio.CancelledError):
            await probing.run()
        return probing.found


def _announce(number: int, purpose: str) -> None:
    print_message(f"{number:2} {purpose}", "")
