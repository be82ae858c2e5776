"""What a session's store promises: kept, recovered, shared, and never overwritten."""

from __future__ import annotations

import signal
import stat
import tomllib
from pathlib import Path

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from tests.storage.session_cases import essence, received
from workbench.domain.choice import Choice
from workbench.domain.conversation import Chat
from workbench.domain.errors import StorageError
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Draft, Session
from workbench.storage.journal import Increments
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_store import SessionStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lighthouse.toml"


def _run(text: str = " one", prompt: str = "Once") -> Run:
    return _sent(run_of(choice_of([token_of(text, 0.5, two=0.25), " more"]), prompt=prompt))


def _sent(run: Run) -> Run:
    run.sent = run.request.body()
    return run


def _started(path: Path, *runs: Run) -> SessionStore:
    store = SessionStore.create(path)
    store.save_draft(Draft(prompt="typed"))
    for run in runs:
        store.finish(run)
    return store


def _abandon(store: SessionStore) -> None:
    """Let go of the locks as the death of a process does, without saving anything."""
    store._sidecars.leave()


def test_a_finished_run_is_in_the_file_at_once(path: Path) -> None:
    run = _run()
    store = _started(path, run)
    (stored,) = tomllib.loads(path.read_text())["runs"]
    assert stored["id"] == run.id
    store.close()


def test_what_was_closed_opens_the_same(path: Path) -> None:
    runs = [_run(), _run(" two", prompt="a\n[[runs]]\nb")]
    store = _started(path, *runs)
    store.rename("The lighthouse\n[[runs]]\n")
    store.close()
    opened = SessionStore.open(path)
    assert list(map(essence, opened.session.runs)) == list(map(essence, runs))
    assert opened.session.draft == Draft(prompt="typed")
    assert opened.session.title == "The lighthouse\n[[runs]]\n"
    assert opened.notes == ()
    opened.store.close()


def test_the_file_is_private_and_stays_so(path: Path) -> None:
    store = _started(path, _run())
    store.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for sidecar in path.parent.glob(".*"):
        assert stat.S_IMODE(sidecar.stat().st_mode) & 0o077 == 0
    store.close()


def test_a_symlink_stays_one_and_its_target_is_written(tmp_path: Path, path: Path) -> None:
    _started(path).close()
    link = tmp_path / "elsewhere" / "link.toml"
    link.parent.mkdir()
    link.symlink_to(path)
    store = SessionStore.open(link).store
    store.finish(_run())
    store.save()
    store.close()
    assert link.is_symlink()
    assert len(tomllib.loads(path.read_text())["runs"]) == 1


def test_appending_leaves_the_bytes_before_it_alone(path: Path) -> None:
    store = _started(path, _run())
    before = path.read_bytes()
    store.finish(_run())
    assert path.read_bytes().startswith(before)
    store.close()


def test_the_draft_of_a_window_that_died_is_recovered_and_named(path: Path) -> None:
    store = _started(path)
    store.save_draft(Draft(prompt="typed, then gone"))
    _abandon(store)
    opened = SessionStore.open(path)
    assert opened.session.draft.prompt == "typed, then gone"
    assert opened.notes == ("recovered the draft as it was last edited",)
    opened.store.close()
    assert tomllib.loads(path.read_text())["draft"]["prompt"] == "typed, then gone"


def test_the_tokens_of_a_run_that_was_streaming_are_recovered(path: Path) -> None:
    store = _started(path)
    run = Run(_run().request, "test")
    coming = Increments(run)
    run.choice(0).append(token_of(" a", 0.5), 0.1)
    store.progress(received(coming))
    run.choice(0).append(token_of(" b", 0.5), 0.2)
    store.progress(received(coming))
    assert coming.take() is None
    _abandon(store)
    opened = SessionStore.open(path)
    (again,) = opened.session.runs
    assert (again.id, again.choices[0].text, again.outcome) == (run.id, " a b", Outcome.TRUNCATED)
    assert "recovered a run that was streaming: 2 tokens" in opened.notes
    opened.store.close()
    assert SessionStore.open(path).notes == ()


def test_tokens_replaced_after_they_were_stored_are_recovered_as_replaced(path: Path) -> None:
    store = _started(path)
    run = Run(_run().request, "test")
    coming = Increments(run)
    run.choice(0).append(token_of(" a", 0.5), 0.1)
    store.progress(received(coming))
    run.choice(0).replace([token_of(" b", 0.5), token_of("c", 0.5)], [0.1, 0.2])
    store.progress(received(coming))
    _abandon(store)
    (again,) = SessionStore.open(path).session.runs
    assert again.choices[0].texts() == [" b", "c"]


def test_a_run_that_is_in_the_file_is_not_said_to_be_recovered(path: Path) -> None:
    run = _run()
    store = _started(path, run)
    store._journal(run).end(run)
    _abandon(store)
    opened = SessionStore.open(path)
    assert (opened.notes, len(opened.session.runs)) == ((), 1)
    opened.store.close()
    assert list(path.parent.iterdir()) == [path]


def test_an_append_torn_anywhere_is_repaired_from_its_journal(path: Path) -> None:
    run = _run(prompt="x\n[[runs]]\ny")
    whole = run_to_toml(run).encode()
    for cut in range(0, len(whole), 7):
        store = _started(path, _run())
        store._journal(run).end(run)
        store._journal(run).appending_at(path.stat().st_size)
        _abandon(store)
        with path.open("ab") as file:
            file.write(whole[:cut])
        opened = SessionStore.open(path)
        assert essence(opened.session.runs[-1]) == essence(run)
        assert len(tomllib.loads(path.read_text())["runs"]) == 2
        opened.store.close()
        path.unlink()


def test_a_torn_append_without_a_journal_is_cut_off_and_kept_beside(path: Path) -> None:
    _started(path, _run(), _run()).close()
    path.write_bytes(path.read_bytes()[:-20])
    opened = SessionStore.open(path)
    assert len(opened.session.runs) == 1
    assert len(list(path.parent.glob("*.torn-*"))) == 1
    assert "repaired" in opened.notes[0]
    opened.store.close()


def test_an_append_torn_by_another_window_is_finished_by_the_one_that_lives(path: Path) -> None:
    first = _started(path)
    second = SessionStore.open(path).store
    run, mine = _run(" theirs"), _run(" mine")
    second._journal(run).end(run)
    second._journal(run).appending_at(path.stat().st_size)
    whole = run_to_toml(run).encode()
    with path.open("ab") as file:
        file.write(whole[: whole.index(b"[[runs.tokens]]")])
    _abandon(second)
    first.finish(mine)
    first.close()
    opened = SessionStore.open(path)
    assert sorted(map(essence, opened.session.runs), key=str) == sorted(map(essence, (run, mine)), key=str)


def test_a_broken_file_opens_as_text_and_is_never_overwritten(path: Path) -> None:
    broken = 'format = 1\ntitle = "a"\ntitle = "b"\n'
    path.write_text(broken)
    opened = SessionStore.open(path)
    assert opened.read_only
    assert opened.error is not None
    assert opened.error.line == 3
    assert opened.text == broken
    with pytest.raises(StorageError):
        opened.store.finish(_run())
    assert len(opened.store.unsaved) == 1
    with pytest.raises(StorageError):
        opened.store.save()
    opened.store.close()
    assert path.read_text() == broken


@pytest.mark.parametrize("line", ["runs = 5", "[[runs]]\nid = 7", '[draft]\nprompt_kind = "x"', "tags = [1]"])
def test_valid_toml_that_is_no_session_is_an_error_that_says_what(path: Path, line: str) -> None:
    path.write_text(f"format = 1\n{line}\n")
    error = SessionStore.open(path).error
    assert error is not None
    assert error.message


def test_a_newer_format_opens_read_only(path: Path) -> None:
    path.write_text('format = 2\ntitle = "from the future"\n')
    opened = SessionStore.open(path)
    assert opened.read_only
    assert opened.session.title == "from the future"
    assert "newer" in opened.notes[0]


def test_unknown_keys_survive_a_save(path: Path) -> None:
    path.write_text(
        'format = 1\nmood = "calm"\n[draft]\nfont = 3\n[draft.parameters]\nwarmth = 2\n[x]\ny = 1\n'
    )
    store = SessionStore.open(path).store
    store.rename("named")
    store.close()
    written = tomllib.loads(path.read_text())
    assert (written["mood"], written["draft"]["font"], written["x"]) == ("calm", 3, {"y": 1})
    assert written["draft"]["parameters"] == {"warmth": 2}


def test_each_window_sees_the_runs_of_the_other(path: Path) -> None:
    first = _started(path)
    second = SessionStore.open(path).store
    mine, yours = _run(), _run()
    first.finish(mine)
    second.finish(yours)
    assert [run.id for run in first.poll().runs] == [yours.id]
    assert [run.id for run in second.poll().runs] == [mine.id]
    assert first.poll().runs == ()
    first.close()
    second.close()
    assert len(SessionStore.open(path).session.runs) == 2


def test_windows_that_begin_one_session_at_once_lose_nothing(path: Path) -> None:
    first, second = (SessionStore.open(path, create=True).store for _ in range(2))
    mine, yours, last = _run(), _run(), _run()
    first.finish(mine)
    first.rename("begun twice")
    second.finish(yours)
    first.finish(last)
    second.close()
    first.close()
    opened = SessionStore.open(path)
    assert [run.id for run in opened.session.runs] == [mine.id, yours.id, last.id]
    assert (opened.session.title, opened.session.id) == ("begun twice", first.session.id)


def test_windows_that_change_the_head_keep_what_each_other_and_a_person_changed(path: Path) -> None:
    first = _started(path)
    second = SessionStore.open(path).store
    first.rename("renamed")
    second.tag(("tagged",))
    path.write_text(f'mood = "calm"\n{path.read_text()}')
    first.keep_variables({"name": "value"})
    second.keep_chat(Chat(system="Be brief."))
    first.close()
    second.close()
    written = SessionStore.open(path).session
    assert (written.title, written.tags, written.variables) == ("renamed", ("tagged",), {"name": "value"})
    assert (written.chat.system, written.other) == ("Be brief.", {"mood": "calm"})


def test_a_change_of_the_head_that_could_not_be_written_outlives_anothers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    first = _started(path)
    second = SessionStore.open(path).store
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(StorageError):
            first.rename("mine")
    second.rename("theirs")
    second.tag(("tagged",))
    second.close()
    first.close()
    written = SessionStore.open(path).session
    assert (written.title, written.tags) == ("mine", ("tagged",))


def test_the_draft_belongs_to_the_first_window_and_the_second_keeps_its_own(path: Path) -> None:
    first = _started(path)
    second = SessionStore.open(path).store
    assert (first.owns_draft, second.owns_draft) == (True, False)
    second.save_draft(Draft(prompt="second's"))
    second.rename("a title")
    second.close()
    first.close()
    opened = SessionStore.open(path)
    assert opened.session.draft.prompt == "typed"
    assert [draft.prompt for draft in opened.spare_drafts] == ["second's"]
    opened.store.forget_spare_drafts()
    opened.store.close()
    assert SessionStore.open(path).spare_drafts == ()


def test_a_live_window_s_stream_is_not_taken_for_a_dead_one_s(path: Path) -> None:
    first = _started(path)
    run = Run(_run().request)
    run.choice(0).append(token_of(" a", 0.5), 0.1)
    first.progress(received(Increments(run)))
    assert SessionStore.open(path).session.runs == []


def test_a_file_deleted_while_open_is_written_again(path: Path) -> None:
    store = _started(path, _run())
    path.unlink()
    store.finish(_run())
    assert len(tomllib.loads(path.read_text())["runs"]) == 2
    assert "deleted" in store.notes[0]
    store.close()


def test_another_program_s_edit_is_taken_over(path: Path) -> None:
    store = _started(path, _run())
    path.write_text(path.read_text().replace('title = ""', 'title = "edited elsewhere"'))
    store.finish(_run())
    store.close()
    opened = SessionStore.open(path)
    assert opened.session.title == "edited elsewhere"
    assert len(opened.session.runs) == 2


def test_a_file_broken_while_open_is_left_alone_and_the_run_waits(path: Path) -> None:
    store = _started(path)
    whole = path.read_text()
    path.write_text("= broken")
    with pytest.raises(StorageError, match="not a readable session"):
        store.finish(_run())
    assert path.read_text() == "= broken"
    path.write_text(whole)
    store.finish(_run())
    assert not store.unsaved
    assert len(tomllib.loads(path.read_text())["runs"]) == 2
    store.close()


def test_a_full_disk_leaves_the_file_whole_and_the_run_in_memory_until_there_is_room(path: Path) -> None:
    resource = pytest.importorskip("resource")
    store = _started(path, _run())
    before = path.read_bytes()
    big = Choice(0)
    for number in range(2000):
        big.append(token_of(f" {number}", 0.5), number / 10)
    run = _sent(run_of(big))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 500, hard))
        with pytest.raises(StorageError, match="cannot be written"):
            store.finish(run)
        with pytest.raises(StorageError, match="cannot be written"):
            store.progress(received(Increments(run)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert path.read_bytes() == before
    assert store.unsaved == (run,)
    store.finish(_run())
    assert not store.unsaved
    store.close()
    assert essence(SessionStore.open(path).session.runs[1]) == essence(run)


def _texts(session: Session) -> list[str]:
    return [run.ordered[0].text for run in session.runs]


def test_a_file_that_another_program_empties_is_written_again_from_memory(path: Path) -> None:
    store = _started(path, _run(" one"), _run(" two"))
    store.rename("title")
    path.write_bytes(b"")
    store.finish(_run(" three"))
    assert store.notes == ["lighthouse.toml was emptied by another program; it was written again"]
    store.close()
    session = SessionStore.open(path).session
    assert (session.title, session.draft.prompt) == ("title", "typed")
    assert _texts(session) == [" one more", " two more", " three more"]


def test_the_runs_of_a_window_are_added_to_a_session_that_replaces_its_file(path: Path) -> None:
    other = _started(path.with_name("other.toml"), _run(" theirs"))
    other.close()
    store = _started(path, _run(" one"), _run(" two"))
    other.path.replace(path)
    assert [run.ordered[0].text for run in store.poll().runs] == [" theirs more"]
    assert store.notes == [
        "lighthouse.toml was replaced by another session; this window's runs are added to it"
    ]
    store.flush()
    assert _texts(SessionStore.open(path).session) == [" theirs more", " one more", " two more"]
    store.finish(_run(" three"))
    store.close()
    opened = SessionStore.open(path)
    assert (opened.session.id, len(opened.session.runs), opened.notes) == (other.session.id, 4, ())


def test_nothing_is_said_to_be_recovered_into_a_file_that_is_not_a_session(path: Path) -> None:
    store = _started(path, _run())
    store.save_draft(Draft(prompt="typed later"))
    _abandon(store)
    whole = path.read_bytes()
    path.write_text("= damaged")
    opened = SessionStore.open(path)
    assert opened.notes == ("the unsaved draft and runs beside the file are recovered once it is corrected",)
    opened.store.close()
    path.write_bytes(whole)
    again = SessionStore.open(path)
    assert again.notes == ("recovered the draft as it was last edited",)
    assert again.session.draft.prompt == "typed later"


@pytest.mark.parametrize("is_changed", [False, True])
def test_closing_saves_a_copy_where_another_program_damaged_the_file(path: Path, is_changed: bool) -> None:
    store = _started(path, _run(" one"), _run(" two"))
    store.rename("title")
    path.write_text("= damaged")
    if is_changed:
        with pytest.raises(StorageError, match="not a readable session"):
            store.finish(_run(" three"))
    with pytest.raises(StorageError, match="not a readable session"):
        store.close()
    assert path.read_text() == "= damaged"
    (copy,) = path.parent.glob("lighthouse-copy-*.toml")
    assert store.notes == [f"lighthouse.toml is damaged; the session is saved as {copy.name}"]
    session = SessionStore.open(copy).session
    assert (session.title, session.draft.prompt) == ("title (copy)", "typed")
    assert _texts(session) == [" one more", " two more", *[" three more"] * is_changed]
    assert session.id != store.session.id


def test_closing_saves_no_copy_where_the_file_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _started(path, _run(" one"))

    def refuse(*given: object) -> None:
        raise StorageError("lighthouse.toml cannot be written")

    monkeypatch.setattr("workbench.storage.session_store.write_atomically", refuse)
    with pytest.raises(StorageError, match="cannot be written"):
        store.rename("title")
    with pytest.raises(StorageError, match="cannot be written"):
        store.close()
    assert [other.suffix for other in path.parent.glob("*.toml")] == [".toml"]


def test_a_missing_file_says_so_unless_it_may_be_made(path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        SessionStore.open(path)
    SessionStore.open(path, create=True).store.close()
    with pytest.raises(StorageError, match="exists already"):
        _started(path).close()
        SessionStore.create(path)


def test_a_name_as_long_as_a_file_system_allows_has_room_for_its_sidecars(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 115 + ".toml")
    _started(path, _run()).close()
    assert len(SessionStore.open(path).session.runs) == 1
