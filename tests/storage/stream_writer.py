"""A process that streams runs into a session file and says what it stored; started and killed by tests."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path

from tests.storage.session_cases import received
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Draft
from workbench.storage.journal import Increments
from workbench.storage.session_store import SessionStore


def _stream(store: SessionStore, number: int, connection: Connection) -> None:
    """One run of 120 tokens, stored every 10, and then finished."""
    run = Run(Request(TextPrompt(f"prompt {number}\n[[runs]]\n")), "test")
    coming = Increments(run)
    store.progress(received(coming))
    for index in range(120):
        alternatives = [Alternative(f" {index}.{other}", -1.0 - other) for other in range(5)]
        run.choice(0).append(ReceivedToken(f" {index}", -0.1, alternatives), index / 100)
        if index % 10 == 9:
            store.progress(received(coming))
            connection.send((run.id, index + 1))
            # A stream has pauses; without them every kill would hit a write.
            time.sleep(0.002)
    run.outcome, run.total = Outcome.COMPLETE, 1.2
    store.finish(run)
    connection.send((run.id, 120))


def write_streams(path: Path, connection: Connection, runs: int) -> None:
    """Stream runs into a file, and tell after each increment how many tokens are stored."""
    store = SessionStore.open(path, create=True).store
    store.save_draft(Draft(prompt="typed"))
    for number in range(runs):
        _stream(store, number, connection)
    store.close()
