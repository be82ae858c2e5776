"""`workbench sessions`: list the sessions, most recently modified first."""

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
from workbench.storage.sessions_folder import Library, Listed


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
    """List the sessions and return the exit status."""
    library = Library(Folders.default(os.environ))
    found = library.search(arguments.search)
    if arguments.json:
        print_json([_to_json(listed) for listed in found])
    elif found:
        # Imported late: only the table needs Rich.
        from workbench.cli.tables import print_table

        heads = ("session", "runs", "changed", "tags", "file")
        print_table(str(library.folder), heads, [_row(listed) for listed in found])
    else:
        which = "no session matches" if arguments.search else "no sessions yet"
        print_message(f"{which} in {library.folder}")
    return ExitStatus.OK


def _row(listed: Listed) -> tuple[str, ...]:
    path = Path(listed.path)
    title = one_line(listed.title or path.stem, 80)
    if listed.error:
        title = f"{title} — not a session: {_error(listed)}"
    changed = f"{datetime.fromtimestamp(listed.modified):%Y-%m-%d %H:%M}"
    tags = one_line(", ".join(listed.tags), 40)
    return title, "—" if listed.error else str(listed.runs), changed, tags, path.name


def _error(listed: Listed) -> str:
    line = "" if listed.line is None else f"line {listed.line}: "
    return f"{line}{one_line(listed.error)}"


def _to_json(listed: Listed) -> JsonValue:
    return {
        "path": listed.path,
        "title": listed.title,
        "created": listed.created or None,
        "changed": datetime.fromtimestamp(listed.modified, UTC).isoformat(),
        "bytes": listed.size,
        "runs": listed.runs,
        "tags": list(listed.tags),
        "error": listed.error or None,
        "line": listed.line,
    }
