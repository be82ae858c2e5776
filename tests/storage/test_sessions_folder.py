"""The sessions folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.errors import StorageError
from workbench.domain.session import Draft, Session
from workbench.storage.files import Folders
from workbench.storage.session_store import SessionStore
from workbench.storage.sessions_folder import Library, safe_name
from workbench.storage.trash import KEPT


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(Folders(tmp_path / "config", tmp_path / "data", tmp_path / "state"))


def _add(library: Library, title: str, answer: str = " upon a time") -> Path:
    store = SessionStore.create(library.new_path(title), Session(title=title))
    store.save_draft(Draft(prompt="the draft"))
    store.finish(run_of(choice_of([token_of(answer, 0.5, other=0.1)]), prompt="a\n[[runs.tokens]]\nb"))
    store.close()
    return store.path


@pytest.mark.parametrize(
    "title", ["a b", "a/b\\c", "../../etc", "🗼" * 99, "x" * 300, "", ".", "NUL", "a\n\x1b"]
)
def test_any_title_makes_a_file_name_that_stays_in_the_folder(library: Library, title: str) -> None:
    path = _add(library, title)
    assert path.parent == library.folder
    assert len(path.name.encode()) < 140
    assert [session.title for session in library.sessions()] == [title]


def test_equal_titles_get_files_of_their_own(library: Library) -> None:
    assert _add(library, "same") != _add(library, "same")
    assert len(library.sessions()) == 2


def test_an_emoji_stays_in_the_name() -> None:
    assert safe_name("my 🗼 tower") == "my 🗼 tower"


def test_a_session_is_found_by_title_prompt_and_answer(library: Library) -> None:
    _add(library, "Lighthouse", " Zanzibar")
    _add(library, "other")
    for query in ("lighthouse", "zanzibar", "house ZAN"):
        assert [session.title for session in library.search(query)] == ["Lighthouse"]
    assert len(library.search("draft")) == 2
    assert library.search("nowhere") == []


def test_a_broken_file_is_listed_with_its_line_and_reason(library: Library) -> None:
    _add(library, "good")
    (library.folder / "bad.toml").write_text('format = 1\ntitle = "a"\nnonsense\n')
    bad = next(session for session in library.sessions() if session.error)
    assert bad.line == 3
    assert "nonsense" in bad.text


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(library: Library) -> None:
    _add(library, "good")
    # Whoever may read everything may not read this.
    (library.folder / "refused.toml").symlink_to("/proc/self/mem")
    (refused,) = (session for session in library.sessions() if session.error)
    assert (Path(refused.path).name, refused.error) == ("refused.toml", "Input/output error")


def test_a_change_shows_and_a_lost_or_damaged_index_is_built_again(library: Library, tmp_path: Path) -> None:
    path = _add(library, "before")
    assert library.sessions() == library.sessions()
    library.rename(path, "after")
    assert [session.title for session in library.sessions()] == ["after"]
    (tmp_path / "state" / "sessions.json").write_text("[")
    assert [session.title for session in library.sessions()] == ["after"]


def test_a_duplicate_holds_the_same_runs_under_its_own_id(library: Library) -> None:
    path = _add(library, "one")
    copied = SessionStore.open(library.duplicate(path)).session
    original = SessionStore.open(path).session
    assert copied.title == "one (copy)"
    assert copied.id != original.id
    assert [run.id for run in copied.runs] == [run.id for run in original.runs]


def test_a_deletion_can_be_taken_back(library: Library) -> None:
    path = _add(library, "gone")
    whole = path.read_bytes()
    library.delete(path)
    assert library.sessions() == []
    assert library.undelete() == path
    assert path.read_bytes() == whole


def test_deletions_are_taken_back_after_a_restart_the_last_one_first(
    library: Library, tmp_path: Path
) -> None:
    paths = [_add(library, title) for title in ("one", "two", "🗼" * 60)]
    for path in paths:
        library.delete(path)
    again = Library(Folders(tmp_path / "config", tmp_path / "data", tmp_path / "state"))
    _add(again, "two")
    assert [again.undelete().stem for _ in paths] == [paths[2].stem, "two 2", "one"]
    with pytest.raises(StorageError, match="no deleted session"):
        again.undelete()


def test_what_was_deleted_long_ago_is_removed_for_good_and_nothing_else(library: Library) -> None:
    kept, gone = library.delete(_add(library, "kept")), library.delete(_add(library, "gone"))
    (library.trash.folder / "20000101T000000000000 mine.toml").write_text("not of ours")
    (library.trash.folder / "99999999T999999999999-abcd-mine.toml").write_text("not of ours either")
    now = datetime.now(UTC)
    gone.trash.rename(
        gone.trash.with_name(gone.trash.name.replace(f"{gone.when:%Y%m%d}", f"{now - KEPT:%Y%m%d}", 1))
    )
    library.trash.empty_old(now + timedelta(days=1))
    assert library.trash.deleted() == [kept]
    assert len(list(library.trash.folder.iterdir())) == 3


def test_what_a_dead_window_left_beside_a_deleted_session_is_deleted_with_it(library: Library) -> None:
    path = _add(library, "tale")
    store = SessionStore.open(path).store
    store.save_draft(Draft(prompt="typed last"))
    store._sidecars.leave()
    library.delete(path)
    _add(library, "tale")
    assert SessionStore.open(path).session.draft.prompt == "the draft"
    assert SessionStore.open(library.undelete()).session.draft.prompt == "typed last"


def test_a_folder_that_is_not_there_holds_no_sessions(library: Library) -> None:
    assert library.sessions() == []
