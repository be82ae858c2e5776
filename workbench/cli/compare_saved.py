"""`workbench compare --runs`: runs of session files side by side; nothing is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.cli.compare_table import agreement, print_compared
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_notes
from workbench.cli.output import print_json, run_to_json
from workbench.cli.session_files import choose_runs
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.runner.saved_runs import SavedRun, saved_column, saved_remarks
from workbench.storage.endpoint_list import load_endpoints
from workbench.storage.folders import Folders
from workbench.storage.session_file import read_runs


def compare_saved(wanted: Sequence[str], *, as_json: bool) -> int:
    """Compare the runs that `FILE` or `FILE#RUN` name, and print a table or JSON; returns the exit status.

    Raises BadValueError for fewer than two runs, and StorageError for a file or a run that is not there.
    """
    saved = [one for text in wanted for one in _named(text)]
    if len(saved) < 2:
        raise BadValueError("a comparison needs at least two runs", hint="Use --runs FILE#RUN FILE#RUN.")
    runs = [one.run for one in saved]
    if as_json:
        print_json(_to_json(saved))
    else:
        endpoints = load_endpoints(Folders.default(os.environ))
        columns = [saved_column(one, endpoints) for one in saved]
        prompts = dict.fromkeys(prompt_to_editor(run.request.prompt) for run in runs)
        print_compared(next(iter(prompts)) if len(prompts) == 1 else "", "run", columns, runs)
        print_notes(saved_remarks(runs))
    return ExitStatus.OK


def _named(text: str) -> Iterator[SavedRun]:
    name, _, run = text.rpartition("#")
    # A file may have the sign in its own name.
    if not name or Path(text).exists():
        name, run = text, ""
    path = Path(name)
    for one in choose_runs(Session(runs=read_runs(path)), run or None):
        yield SavedRun(f"{path.stem}#{one.name or one.id[:8]}", one)


def _to_json(saved: Sequence[SavedRun]) -> JsonValue:
    runs: list[Run] = [one.run for one in saved]
    shared, divergence = agreement(runs)
    return {
        "shared_tokens": shared,
        "first_difference": None if divergence is None else divergence.position,
        "runs": [
            {"title": one.title, **run_to_json(one.run), "request": one.run.request.body()} for one in saved
        ],
    }
