"""Session files as commands use them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.cli.messages import print_notes
from workbench.domain.choice import Choice
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.session_store import SessionStore
from workbench.workspace.keeper import Keeper


@contextmanager
def open_for_writing(name: str) -> Iterator[Keeper]:
    """The keeper of a session file, which is created where there is none.

    Raises StorageError for a file that is broken, and at the end for what could not be written.
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
        why = " ".join(f"{problems[-1].title}: {problems[-1].message}".split()) if problems else ""
        raise StorageError(
            "The result is not kept in the session, or only in part",
            why,
            "Free some space or check the folder, and run it again.",
            path=name,
        )


def read_session(name: str) -> Session:
    """The session in a file. Raises StorageError for one that is missing or broken."""
    opened = SessionStore.open(Path(name))
    print_notes(opened.notes, "workbench: ")
    opened.store.close()
    if opened.error is not None:
        raise opened.error
    return opened.session


def choose_runs(session: Session, wanted: str | None) -> list[Run]:
    """The run with an id (or its beginning) or a name, or all runs.

    Raises StorageError where there is none, or where the beginning fits several.
    """
    if wanted is None:
        if not session.runs:
            raise StorageError("the session has no runs")
        return list(session.runs)
    found = [run for run in session.runs if run.id.startswith(wanted) or run.name == wanted]
    if len(found) != 1:
        known = ", ".join(run.id[:8] for run in session.runs[-20:])
        many = "several runs fit" if found else "there is no run"
        raise StorageError(f"{many} {wanted!r}", hint=f"The newest runs: {known}.")
    return found


def choose_choice(run: Run, number: int) -> Choice:
    """A run's choice by its number from 1. Raises BadValueError where there is none."""
    choice = run.choices.get(number - 1)
    if choice is None:
        raise BadValueError(f"The run has no choice {number}", hint=f"It has {len(run.choices)}.")
    return choice


def choose_token(choice: Choice, number: int) -> int:
    """The index of a token by its number from 1. Raises BadValueError where there is none."""
    if not 0 < number <= len(choice):
        raise BadValueError(f"The choice has no token {number}", hint=f"It has {len(choice)}.")
    return number - 1
