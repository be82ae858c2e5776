"""`workbench import`: add exported runs, or a curl command as the draft, to a session."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from workbench.cli.exit_status import ExitStatus
from workbench.cli.parsing import file_name
from workbench.cli.request_options import read_input
from workbench.cli.session_files import open_for_writing
from workbench.domain.display import visible
from workbench.domain.errors import StorageError
from workbench.domain.session import Draft
from workbench.runner.import_curl import draft_from_curl, is_curl
from workbench.storage.endpoint_list import load_endpoints
from workbench.storage.files import Folders
from workbench.storage.json_lines import runs_from_json_lines
from workbench.workspace.keeper import Keeper


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file",
        type=file_name,
        metavar="FILE",
        help="a JSON Lines export or a curl command; - is standard input",
    )
    parser.add_argument(
        "--session",
        type=file_name,
        required=True,
        metavar="S",
        help="the session to add to, created if missing",
    )


def run(arguments: argparse.Namespace) -> int:
    """Import and return the exit status."""
    text = read_input(arguments.file)
    # The whole input is parsed before a session is created or changed.
    if is_curl(text):
        taken = draft_from_curl(text, load_endpoints(Folders.default(os.environ)))
        with open_for_writing(arguments.session) as keeper:
            _take_draft(keeper, arguments.session, taken.draft)
        result = " ".join(("the request is now the session's draft.", *taken.notes))
    else:
        runs = runs_from_json_lines(text, arguments.file)
        if not runs:
            raise StorageError(f"{arguments.file} has no runs", path=arguments.file)
        with open_for_writing(arguments.session) as keeper:
            before = len(keeper.session.runs)
            for imported in runs:
                keeper.ended(imported)
            added = len(keeper.session.runs) - before
        result = f"{added} of {len(runs)} runs imported"
        if added < len(runs):
            result += "; the others were there already"
    print(f"{visible(arguments.session)}: {result}")
    return ExitStatus.OK


def _take_draft(keeper: Keeper, name: str, draft: Draft) -> None:
    if keeper.session.draft.prompt not in ("", draft.prompt):
        raise StorageError(
            f"{Path(name).name} has a draft already",
            "Importing would replace it.",
            "Choose another session; one that is missing is created.",
            path=name,
        )
    keeper.edited(draft)
