"""Real processes: killed at random moments of a stream, and appending to one file at the same time."""

from __future__ import annotations

import os
import random
import signal
import time
import tomllib
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

from tests.storage.stream_writer import write_streams
from workbench.domain.session import Draft
from workbench.storage.session_store import SessionStore

KILLS = 50


def _start(path: Path, runs: int) -> tuple[ForkProcess, Connection]:
    # A forked process starts in milliseconds, so that fifty of them are quick.
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=write_streams, args=(path, theirs, runs))
    process.start()
    theirs.close()
    return process, ours


def _killed(path: Path, reports: int, delay: float) -> dict[str, int]:
    """Kill a writer some time after so many reports; answers with the tokens that must be in the file."""
    process, connection = _start(path, 1000)
    stored = dict(connection.recv() for _ in range(reports))
    # The moment is random on purpose: nothing tells when the writer is in the middle of a write.
    time.sleep(delay)
    process.kill()
    process.join()
    try:
        while True:
            run, tokens = connection.recv()
            stored[run] = tokens
    except EOFError:
        connection.close()
    return stored


@pytest.mark.slow
def test_fifty_kills_lose_no_stored_token_and_leave_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "killed.toml"
    chance = random.Random(4)
    stored: dict[str, int] = {}
    for _ in range(KILLS):
        stored |= _killed(path, chance.randint(1, 20), chance.uniform(0, 0.02))
        opened = SessionStore.open(path)
        assert opened.error is None
        assert opened.session.draft.prompt == "typed"
        tomllib.loads(path.read_text())
        have = {run.id: run.tokens for run in opened.session.runs}
        assert {run: have.get(run, 0) for run, count in stored.items() if have.get(run, 0) < count} == {}
        opened.store.close()
        if path.stat().st_size > 100_000:
            path.unlink()
            stored.clear()


def _write_and_die(path: Path, prompt: str) -> None:
    store = SessionStore.open(path, create=True).store
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(os, "fsync", lambda handle: os.kill(os.getpid(), signal.SIGKILL))
    if prompt:
        store.save_draft(Draft(prompt=prompt))
    else:
        store.rename("another title")


@pytest.mark.parametrize("prompt", ["", "typed"], ids=["file", "draft"])
@pytest.mark.parametrize("name", ["killed", "x" * 245])
def test_a_kill_in_the_middle_of_a_rewrite_leaves_nothing_beside_the_file_for_ever(
    name: str, prompt: str, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.toml"
    store = SessionStore.create(path)
    store.rename("title")
    process = get_context("fork").Process(target=_write_and_die, args=(path, prompt))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    left = {other for other in tmp_path.iterdir() if other.suffix == ".part"}
    assert left
    # That of a window that is open is not stale.
    mine = store._sidecars.part
    mine.write_text("being written")
    opened = SessionStore.open(path)
    assert {other for other in tmp_path.iterdir() if other.suffix == ".part"} == {mine}
    assert opened.session.title == "title"
    mine.unlink()
    opened.store.close()
    store.close()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_processes_appending_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shared.toml"
    window = SessionStore.create(path)
    window.save()
    writers = [_start(path, 5) for _ in range(3)]
    for process, connection in writers:
        process.join()
        connection.close()
        assert process.exitcode == 0
    assert len(window.poll().runs) == 15
    window.close()
    runs = tomllib.loads(path.read_text())["runs"]
    assert len({run["id"] for run in runs}) == len(runs) == 15
