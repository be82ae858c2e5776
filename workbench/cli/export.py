"""`workbench export`: convert a session or a run to another format, without keys."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workbench.cli.exit_status import ExitStatus
from workbench.cli.parsing import file_name
from workbench.cli.session_files import choose_runs, read_session
from workbench.domain.conversation import Chat
from workbench.domain.display import visible
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.runner.export_formats import REQUEST_FORMS, RUN_FORMS, SESSION_FORMS, export_run
from workbench.storage.endpoint_list import endpoint_for, load_endpoints
from workbench.storage.files import Folders, write_atomically

_RUN_FORMS = (*RUN_FORMS, *REQUEST_FORMS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", type=file_name, metavar="FILE", help="a session file")
    parser.add_argument("--to", required=True, choices=(*SESSION_FORMS, *_RUN_FORMS), help="output format")
    parser.add_argument("--run", metavar="ID", help="one run (id prefix or name; default: all)")
    parser.add_argument(
        "--output", type=file_name, metavar="F", help="write a file instead of standard output"
    )
    parser.add_argument(
        "--endpoint",
        metavar="NAME|URL",
        help="where curl and Python send the request (default: where the run was sent)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Export and return the exit status."""
    session = read_session(arguments.file)
    runs = choose_runs(session, arguments.run)
    if arguments.to in _RUN_FORMS and len(runs) > 1:
        newest = ", ".join(recorded.id[:8] for recorded in runs[-20:])
        raise BadValueError(f"--to {arguments.to} is for one run: name it with --run (the newest: {newest})")
    text = _exported(session, runs, arguments)
    if not arguments.output:
        _print(text)
        return ExitStatus.OK
    target = Path(arguments.output)
    if target.exists() and target.samefile(arguments.file):
        raise BadValueError("--output names the session itself, which would be lost")
    write_atomically(target, text.encode("utf-8", "replace"))
    return ExitStatus.OK


def _exported(session: Session, runs: Sequence[Run], arguments: argparse.Namespace) -> str:
    if (form := SESSION_FORMS.get(arguments.to)) is not None:
        # Markdown of a single run omits the conversation.
        is_single_markdown = arguments.run is not None and arguments.to == "markdown"
        chat = Chat() if is_single_markdown else session.chat
        return form.write(replace(session, runs=list(runs), chat=chat))
    if arguments.to in RUN_FORMS:
        return RUN_FORMS[arguments.to].write(runs[0])
    return _request(runs[0], arguments.to, arguments.endpoint)


def _request(recorded: Run, form: str, named: str | None) -> str:
    endpoints = load_endpoints(Folders.default(os.environ))
    endpoint = endpoint_for(named or recorded.endpoint, None, endpoints)
    bodies = (recorded.request.body(endpoint.aliases, endpoint.drop),) if named else recorded.bodies
    return "\n".join(request.with_comment for request in export_run(form, recorded, endpoint, bodies))


def _print(text: str) -> None:
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.buffer.write(shown.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
