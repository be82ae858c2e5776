"""Open session files, and select runs, choices and tokens, for commands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.cli.messages import print_notes
from workbench.domain.choice import Choice
from workbench.domain.display import sentences
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.session_store import SessionStore
from workbench.workspace.keeper import Keeper


@contextmanager
def open_for_writing(name: str) -> Iterator[Keeper]:
    """Open or create a session file, and yield its keeper.

    Raises StorageError if the file is invalid, and at the end if something could not be written.
    """
    path = Path(name)
    keeper = Keeper(path.parent)
    opened = asyncio.run(keeper.open(path, create=True))
    print_notes(opened.notes, "workbench: ")
    if opened.error is not None:
        raise opened.error
    if opened.read_only:
        raise StorageError(
            f"{name} cannot be written", "It was opened read-only.", "Choose another file.", path=name
        )
    try:
        yield keeper
    finally:
        is_written = keeper.begin_closing().result()
        problems, notes = keeper.take_problems()
        print_notes(notes, "workbench: ")
    if not is_written:
        why, hint = "", "Check the folder, and run it again."
        if problems:
            why = " ".join(f"{problems[-1].title}: {problems[-1].message}".split())
            hint = sentences(problems[-1].hint, "Then run it again.")
        raise StorageError("The result is not kept in the session, or only in part", why, hint, path=name)


def read_session(name: str) -> Session:
    """Read a session file. Raises StorageError if it is missing or invalid."""
    opened = SessionStore.open(Path(name))
    print_notes(opened.notes, "workbench: ")
    opened.store.close()
    if opened.error is not None:
        raise opened.error
    return opened.session


def choose_runs(session: Session, wanted: str | None) -> list[Run]:
    """Return the run with an id, an id prefix or a name; all runs if `wanted` is None.

    Raises StorageError if the session has none, and BadValueError unless exactly one is found.
    """
    if not session.runs:
        raise StorageError("the session has no runs")
    if wanted is None:
        return list(session.runs)
    found = [run for run in session.runs if run.id.startswith(wanted) or run.name == wanted]
    if len(found) != 1:
        known = ", ".join(run.id[:8] for run in session.runs[-20:])
        many = "several runs fit" if found else "there is no run"
        raise BadValueError(f"{many} {wanted!r}", hint=f"The newest runs: {known}.")
    return found


def choose_choice(run: Run, number: int) -> Choice:
    """Return a run's choice by its number, from 1. Raises BadValueError if it does not exist."""
    choice = run.choices.get(number - 1)
    if choice is None:
        raise BadValueError(f"The run has no choice {number}", hint=f"It has {len(run.choices)}.")
    return choice


def choose_token(choice: Choice, number: int) -> int:
    """Return the index of a token by its number, from 1. Raises BadValueError if it does not exist."""
    if not 0 < number <= len(choice):
        raise BadValueError(f"The choice has no token {number}", hint=f"It has {len(choice)}.")
    return number - 1
