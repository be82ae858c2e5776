"""`workbench sessions`: the sessions there are, the one changed last first."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path

from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.output import print_json
from workbench.domain.display import one_line
from workbench.domain.json_values import JsonValue
from workbench.storage.files import Folders
from workbench.storage.library import Library, Listed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--search",
        default="",
        metavar="WORDS",
        help="only sessions whose title, prompts or answers contain all words",
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """List the sessions; returns the exit status."""
    library = Library(Folders.default(os.environ))
    found = library.search(arguments.search)
    if arguments.json:
        print_json([_to_json(one) for one in found])
    elif found:
        # Only the table needs what draws tables.
        from workbench.cli.tables import print_table

        heads = ("session", "runs", "changed", "tags", "file")
        print_table(str(library.folder), heads, [_row(one) for one in found])
    else:
        which = "no session matches" if arguments.search else "no sessions yet"
        print_message(f"{which} in {library.folder}")
    return ExitStatus.OK


def _row(one: Listed) -> tuple[str, ...]:
    path = Path(one.path)
    title = one_line(one.title or path.stem, 80)
    if one.error:
        title = f"{title} — not a session: {_error(one)}"
    changed = f"{datetime.fromtimestamp(one.modified):%Y-%m-%d %H:%M}"
    return title, "—" if one.error else str(one.runs), changed, one_line(", ".join(one.tags), 40), path.name


def _error(one: Listed) -> str:
    line = "" if one.line is None else f"line {one.line}: "
    return f"{line}{one_line(one.error)}"


def _to_json(one: Listed) -> JsonValue:
    return {
        "path": one.path,
        "title": one.title,
        "created": one.created or None,
        "changed": datetime.fromtimestamp(one.modified, UTC).isoformat(),
        "bytes": one.size,
        "runs": one.runs,
        "tags": list(one.tags),
        "error": one.error or None,
        "line": one.line,
    }
