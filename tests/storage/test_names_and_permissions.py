"""Long names, links that lead nowhere, and places where nothing may be written."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.domain.builders import choice_of, run_of
from workbench.domain.errors import StorageError
from workbench.domain.session import Draft
from workbench.storage.session_store import SessionStore

NOBODY = 65534


def _keep(path: Path) -> None:
    store = SessionStore.create(path)
    store.finish(run_of(choice_of([" one"])))
    store.rename("named")
    store.close()


@pytest.mark.parametrize("name", ["x" * 250, "é" * 125, "a b / 🗼".replace("/", "∕")])
def test_any_name_that_a_file_system_takes_is_written_and_rewritten(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.toml"
    _keep(path)
    path.write_bytes(path.read_bytes()[:-10])
    opened = SessionStore.open(path)
    assert "repaired" in opened.notes[0]
    opened.store.close()


@pytest.mark.parametrize("name", ["x" * 300, "a\x1b[31m" + "b" * 300])
def test_a_name_that_no_file_system_takes_is_refused_in_one_short_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError) as caught:
        SessionStore.open(tmp_path / f"{name}.toml", create=True)
    assert len(caught.value.title) < 120
    assert caught.value.title.isprintable()


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.toml"
    path.symlink_to(path)
    with pytest.raises(StorageError):
        SessionStore.open(path)


def test_a_closed_session_leaves_nothing_beside_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tidy.toml"
    _keep(path)
    store = SessionStore.open(path).store
    store.save_draft(Draft(prompt="typed"))
    store.remove(store.session.runs[0])
    store.close()
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    new = SessionStore.create(path)
    new.save_draft(Draft(prompt="typed"))
    new.close()
    assert list(tmp_path.iterdir()) == [path]
    assert SessionStore.open(path).session.draft.prompt == "typed"


def test_a_window_that_closes_takes_no_lock_from_another(tmp_path: Path) -> None:
    path = tmp_path / "shared.toml"
    _keep(path)
    first, second = SessionStore.open(path).store, SessionStore.open(path).store
    second.close()
    third = SessionStore.open(path).store
    assert (first.owns_draft, third.owns_draft) == (True, False)
    third.finish(run_of(choice_of([" two"])))
    assert len(first.poll().runs) == 1
    third.close()
    first.close()


@contextmanager
def _unwritable(mode_of_folder: int, mode_of_file: int) -> Iterator[Path]:
    # Not in pytest's own folder, which only its user may enter.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kept.toml")
        _keep(path)
        path.chmod(mode_of_file)
        Path(folder).chmod(mode_of_folder)
        try:
            yield path
        finally:
            Path(folder).chmod(0o700)


def _open_as_nobody(path: Path, connection: Connection) -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    opened = SessionStore.open(path)
    try:
        opened.store.finish(run_of(choice_of([" two"])))
    except StorageError as problem:
        connection.send((len(opened.session.runs), opened.notes, str(problem)))
    else:
        connection.send(None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that gives up its rights")
@pytest.mark.parametrize(("folder", "file"), [(0o555, 0o644), (0o777, 0o444)])
def test_what_may_not_be_written_opens_to_read_only_and_stays_as_it_is(folder: int, file: int) -> None:
    with _unwritable(folder, file) as path:
        before = path.read_bytes()
        context = get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_open_as_nobody, args=(path, theirs))
        process.start()
        answer = ours.recv()
        process.join()
        # One run was in the file; the second is in memory only.
        assert answer is not None
        runs, notes, problem = answer
        assert runs == 2
        assert notes[0].startswith("read-only: ")
        assert "read-only" in problem
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space for {}."),
        (errno.EDQUOT, "Free some space for {}."),
        (errno.EROFS, "Check the permissions in {}."),
        (errno.ENOENT, "Check that {} is a folder."),
        (errno.EISDIR, "Move the folder of that name away from {}."),
        (errno.EIO, "Check the folder {} and its disk."),
    ],
)
def test_what_cannot_be_written_says_what_happened_where_and_what_to_do(
    number: int, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    store = SessionStore.create(tmp_path / "kept.toml")
    with monkeypatch.context() as patched, pytest.raises(StorageError) as raised:
        patched.setattr(os, "fsync", fail)
        store.rename("title")
    error = raised.value
    assert (error.title, error.message) == ("kept.toml cannot be written", os.strerror(number))
    assert error.hint == advice.format(tmp_path)
    store.rename("title")
    store.close()
    assert SessionStore.open(store.path).session.title == "title"
