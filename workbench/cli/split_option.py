"""Several requests for one run: asked for by `--split`, and offered where they would help."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from workbench.cli.messages import print_message
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Range
from workbench.domain.prompt import count_prompts
from workbench.domain.request import Request
from workbench.domain.split import Split
from workbench.runner.split_run import Quirks, offer_split
from workbench.storage.folders import Folders
from workbench.storage.probes import load_probe


def add_split_option(parser: argparse.ArgumentParser) -> None:
    """Add `--split`."""
    parser.add_argument(
        "--split",
        action="store_true",
        help="send a request for each prompt and each choice, counting a seed up, and show them as one run",
    )


def limits_of(endpoint: Endpoint, *, split: bool) -> Mapping[str, Range]:
    """The ranges of the fields; asked for one by one, any number of choices is within an endpoint's limit."""
    return {name: one for name, one in endpoint.limits.items() if name != "n" or not split}


def split_of(request: Request, endpoint: Endpoint, *, split: bool) -> Split | None:
    """What gets a request of its own where that is wanted; prints a hint where it would help and is not.

    Raises BadValueError where it is wanted and cannot be.
    """
    if split:
        if request.parameters.number("best_of", 1) > 1:
            raise BadValueError(
                "--split: candidates of best_of are ranked within one request, so it is not split",
                field="best_of",
            )
        several = count_prompts(request.prompt) > 1, request.parameters.number("n", 1) > 1
        return Split(*several) or None
    if request.choices > 1:
        quirks = Quirks(load_probe(Folders.default(os.environ), endpoint.name))
        if (offer := offer_split(endpoint, request, quirks)) is not None:
            words = f"{endpoint.name} may not answer this in one request: {offer.reason}"
            print_message(f"{words}; --split sends {offer.requests} instead")
    return None
