"""Session files as other programs and people leave them: byte order marks, CRLF, tables respelled or gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from tests.storage.session_cases import essence
from workbench.domain.run import Run
from workbench.domain.session import Draft
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_store import SessionStore
from workbench.storage.sessions_folder import read_listed

BOM = b"\xef\xbb\xbf"
TEXT = " one\r\n two\n\n[[runs]]\n\ufeff"


def upon(text: str = TEXT) -> Run:
    """A run as it is after it was sent."""
    run = run_of(choice_of([token_of(text, 0.5, two=0.25), " more"]), prompt="Once\nupon")
    run.sent = run.request.body()
    return run


def written(path: Path, *runs: Run) -> bytes:
    """A session's file that holds runs, and its bytes."""
    store = SessionStore.create(path)
    store.save_draft(Draft(prompt="typed\nhere"))
    for run in runs:
        store.finish(run)
    store.close()
    return path.read_bytes()


def reopened(path: Path) -> list[tuple[object, ...]]:
    """What a session's file holds of its runs."""
    opened = SessionStore.open(path)
    opened.store.close()
    assert opened.error is None
    assert opened.session.draft == Draft(prompt="typed\nhere")
    return list(map(essence, opened.session.runs))


def with_bom(raw: bytes) -> bytes:
    """As Notepad saves it."""
    return BOM + raw


def with_crlf(raw: bytes) -> bytes:
    """As an editor on Windows saves it."""
    return raw.replace(b"\n", b"\r\n")


def with_comments(raw: bytes) -> bytes:
    """With a remark behind every table's name."""
    return raw.replace(b"]]\n", b"]] # checked\n")


def first_respelled(raw: bytes) -> bytes:
    """With the first run begun as this program never writes it."""
    return raw.replace(b"\n[[runs]]\n", b"\n[[ runs ]]\n", 1)


WAYS = [with_bom, with_crlf, lambda raw: with_bom(with_crlf(raw)), with_comments, first_respelled]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_edited_file_opens_takes_a_run_and_keeps_all_when_it_is_saved(
    way: object, count: int, tmp_path: Path
) -> None:
    assert callable(way)
    path = tmp_path / "s.toml"
    runs = [upon(f"{TEXT}{number}") for number in range(count)]
    path.write_bytes(way(written(path, *runs)))
    opened = SessionStore.open(path)
    assert opened.notes == ()
    assert read_listed(path).error == ""
    runs.append(upon(" appended"))
    opened.store.finish(runs[-1])
    assert reopened(path) == list(map(essence, runs))
    opened.store.rename("another")
    runs.append(upon(" appended after it was saved"))
    opened.store.finish(runs[-1])
    opened.store.close()
    assert reopened(path) == list(map(essence, runs))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_file_with_crlf_keeps_its_line_ends(count: int, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    runs = [upon(f"{TEXT}{number}") for number in range(count)]
    path.write_bytes(with_crlf(written(path, *runs)))
    before = path.read_bytes()
    store = SessionStore.open(path).store

    def is_pure() -> bool:
        return re.search(rb"[^\r]\n", path.read_bytes()) is None

    appended = upon(" appended")
    store.finish(appended)
    assert path.read_bytes().startswith(before)
    assert is_pure()
    store.rename("another")
    assert is_pure()
    store.remove(appended)
    assert is_pure()
    store.restore(appended, "")
    assert is_pure()
    store.close()
    assert reopened(path) == list(map(essence, [*runs, appended]))


def test_runs_that_others_append_to_a_file_with_crlf_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(with_crlf(written(path, upon())))
    first, second = SessionStore.open(path).store, SessionStore.open(path).store
    added = upon(" added")
    second.finish(added)
    assert [run.id for run in first.poll().runs] == [added.id]
    second.close()
    first.close()


def test_a_torn_append_to_a_file_with_crlf_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    kept, torn = upon(" kept"), upon(" torn")
    raw = with_crlf(written(path, kept))
    path.write_bytes(raw + with_crlf(run_to_toml(torn).encode())[:300])
    opened = SessionStore.open(path)
    opened.store.close()
    assert "repaired" in opened.notes[0]
    assert reopened(path) == [essence(kept)]


@pytest.mark.parametrize("way", [with_bom, lambda raw: raw])
def test_a_newer_format_is_seen_behind_a_byte_order_mark(way: object, tmp_path: Path) -> None:
    assert callable(way)
    path = tmp_path / "s.toml"
    path.write_bytes(way(b"format = 99\n"))
    opened = SessionStore.open(path)
    assert opened.read_only
    assert "newer version" in opened.notes[0]


def test_an_answer_whose_tokens_were_taken_out_by_hand_is_its_text(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    first, other = choice_of([" one", " two"]), choice_of([" three", " four"], 1)
    run = run_of(first, other)
    raw = written(path, run)
    path.write_bytes(raw[: raw.index(b"\n[[runs.tokens]]\nchoice = 1\n")])
    store = SessionStore.open(path).store
    (found,) = store.session.runs
    assert [choice.text for choice in found.ordered] == [" one two", " three four"]
    assert [len(choice) for choice in found.ordered] == [2, 1]
    assert next(iter(found.choice(1))).logprob is None
    store.rename("saved again")
    store.close()
    opened = SessionStore.open(path)
    opened.store.close()
    assert [choice.text for choice in opened.session.runs[0].ordered] == [" one two", " three four"]


def test_an_echo_longer_than_its_tokens_ends_with_them(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    raw = written(path, run_of(choice_of([" one", " two"])))
    path.write_bytes(raw.replace(b"index = 0\n", b"index = 0\nechoed = 9\n"))
    opened = SessionStore.open(path)
    opened.store.close()
    assert opened.session.runs[0].choice(0).echoed == 2


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (b"index = 0", b"index = -1", "choices has a mistake in entry 1"),
        (b"choice = 0", b"choice = -1", "choice"),
        (b"index = 0", b"index = 0\nechoed = -1", "choices has a mistake in entry 1"),
        (b"at = '0.1 0.2'", b"at = '0.1 inf'", "at"),
        (b"at = '0.1 0.2'", b"at = '-1 0.2'", "at has a time that no answer takes"),
        (b"at = '0.1 0.2'", b"at = '0.1 1e300'", "at has a time that no answer takes"),
        (b"first_token = 0.1", b"total = inf", "timing.total"),
        (b"started = ", b"started = 0001-01-01T00:00:00Z # ", "is not between 1970 and 9998"),
        (b"created = ", b"created = 9999-12-31T23:59:59Z # ", "is not between 1970 and 9998"),
    ],
)
def test_a_number_that_cannot_be_is_named(before: bytes, after: bytes, named: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    raw = written(path, run_of(choice_of([" one", " two"])))
    assert before in raw
    path.write_bytes(raw.replace(before, after, 1))
    opened = SessionStore.open(path)
    opened.store.close()
    assert opened.error is not None
    assert named in opened.error.message
