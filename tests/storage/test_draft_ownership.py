"""A session's draft belongs to one window; when that one goes, another takes over, and nothing is lost."""

from __future__ import annotations

import os
import tomllib
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from workbench.domain.session import Draft
from workbench.storage.session_store import SessionStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lighthouse.toml"


def _two_windows(path: Path) -> tuple[SessionStore, SessionStore]:
    first = SessionStore.create(path)
    first.save_draft(Draft(prompt="at first"))
    first.save()
    return first, SessionStore.open(path).store


def _prompt(path: Path) -> object:
    return tomllib.loads(path.read_text())["draft"]["prompt"]


def _next_start(path: Path) -> tuple[str, list[str]]:
    """The draft and the spare ones that the next start finds."""
    opened = SessionStore.open(path)
    opened.store.close()
    return opened.session.draft.prompt, [draft.prompt for draft in opened.spare_drafts]


def test_the_second_window_takes_over_when_the_first_closes(path: Path) -> None:
    first, second = _two_windows(path)
    second.save_draft(Draft(prompt="the second's"))
    assert not second.owns_draft
    first.close()
    second.poll()
    assert second.owns_draft
    second.save_draft(Draft(prompt="the second's, later"))
    second.close()
    assert _prompt(path) == "the second's, later"
    assert _next_start(path) == ("the second's, later", [])


def test_what_the_first_window_left_is_kept_beside(path: Path) -> None:
    first, second = _two_windows(path)
    second.save_draft(Draft(prompt="the second's"))
    first.save_draft(Draft(prompt="the first's last words"))
    first.close()
    second.close()
    assert "will open as a separate session" in second.notes[0]
    assert _prompt(path) == "the second's"
    assert _next_start(path) == ("the second's", ["the first's last words"])


def test_a_second_window_in_which_nothing_was_typed_leaves_the_draft_alone(path: Path) -> None:
    first, second = _two_windows(path)
    first.save_draft(Draft(prompt="the first's"))
    first.close()
    second.poll()
    second.rename("named")
    second.close()
    assert _next_start(path) == ("the first's", [])


def test_a_third_window_owns_nothing_while_the_second_does(path: Path) -> None:
    first, second = _two_windows(path)
    third = SessionStore.open(path).store
    first.close()
    second.save_draft(Draft(prompt="the second's"))
    third.save_draft(Draft(prompt="the third's"))
    assert (second.owns_draft, third.owns_draft) == (True, False)
    third.close()
    second.close()
    assert _next_start(path) == ("the second's", ["the third's"])


def _type_and_wait(path: Path, connection: Connection) -> None:
    store = SessionStore.open(path).store
    store.save_draft(Draft(prompt="typed, then killed"))
    connection.send(store.owns_draft)
    connection.recv()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that start in milliseconds")
def test_a_window_that_is_killed_leaves_its_draft_beside_the_one_that_takes_over(path: Path) -> None:
    before = SessionStore.create(path)
    before.save()
    before.close()
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_type_and_wait, args=(path, theirs))
    process.start()
    assert ours.recv() is True
    second = SessionStore.open(path).store
    second.save_draft(Draft(prompt="the second's"))
    assert not second.owns_draft
    process.kill()
    process.join()
    second.poll()
    assert second.owns_draft
    second.close()
    assert _next_start(path) == ("the second's", ["typed, then killed"])
