"""Session files as commands use them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.domain.display import visible
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.session_store import SessionStore


@contextmanager
def open_for_writing(name: str | None) -> Iterator[SessionStore | None]:
    """The store of a session file, created where there is none; None where no file was named.

    Raises StorageError for a file that is broken or cannot be written.
    """
    if not name:
        yield None
        return
    opened = SessionStore.open(Path(name), create=True)
    _tell(opened.notes)
    if opened.error is not None:
        raise opened.error
    if opened.read_only:
        raise StorageError(
            f"{name} cannot be written", "It was opened read-only.", "Choose another file.", path=name
        )
    try:
        yield opened.store
    finally:
        opened.store.close()


def read_session(name: str) -> Session:
    """The session in a file. Raises StorageError for one that is missing or broken."""
    opened = SessionStore.open(Path(name))
    _tell(opened.notes)
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
            raise StorageError("the session holds no runs")
        return list(session.runs)
    found = [run for run in session.runs if run.id.startswith(wanted) or run.name == wanted]
    if len(found) != 1:
        known = ", ".join(run.id[:8] for run in session.runs[-20:])
        many = "several runs fit" if found else "there is no run"
        raise StorageError(f"{many} {wanted!r}", hint=f"The newest runs: {known}.")
    return found


def _tell(notes: tuple[str, ...]) -> None:
    for note in notes:
        print(f"workbench: {visible(note)}", file=sys.stderr)
