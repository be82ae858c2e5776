"""A session has one writer, which nobody waits for and which loses nothing."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.errors import StorageError
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Draft
from workbench.storage.session_store import SessionStore
from workbench.workspace.keeper import Keeper, Keepers


def ended(text: str = " a") -> Run:
    """A run that is over."""
    run = run_of(choice_of([token_of(text, 0.5)]))
    run.outcome = Outcome.COMPLETE
    return run


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(60):
        # What it waits for is done by a thread and seen in files.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def kept(folder: Path) -> tuple[Keepers, Keeper, Path]:
    """A session with one run in its file."""
    keepers = Keepers(folder)
    keeper = keepers.new()
    keeper.begin_with(Draft(prompt="typed"))
    keeper.ended(ended())
    assert await keeper.settle()
    assert keeper.path is not None
    return keepers, keeper, keeper.path


def lock_of(path: Path) -> FileLock:
    """The lock of a session, held by somebody else."""
    return FileLock(path.with_name(f".{path.name}.lock"), thread_local=False)


def files(folder: Path) -> list[Path]:
    """Everything in a folder."""
    return [*folder.iterdir()]


def stored(path: Path) -> list[str]:
    """The texts of the runs in a file."""
    return [run["choices"][0]["text"] for run in tomllib.loads(path.read_text()).get("runs", [])]


async def test_a_session_in_which_nothing_was_done_has_no_file(tmp_path: Path) -> None:
    keeper = Keepers(tmp_path).new()
    keeper.begin_with(Draft(prompt="typed"))
    keeper.edited(Draft(prompt="typed"))
    keeper.tick()
    assert await keeper.close()
    assert not files(tmp_path)


async def test_a_file_begins_with_the_draft_whatever_it_is_made_for(tmp_path: Path) -> None:
    keepers, _, path = await kept(tmp_path)
    assert await keepers.aclose(60)
    assert tomllib.loads(path.read_text())["draft"]["prompt"] == "typed"
    assert stored(path) == [" a"]


async def test_what_streams_is_stored_while_another_program_writes_the_file(tmp_path: Path) -> None:
    keepers, keeper, path = await kept(tmp_path)
    run = run_of(choice_of([]))
    run.outcome = None
    lock = lock_of(path)
    with lock:
        keeper.ended(ended(" waits"))
        keeper.began(run)
        run.choice(0).append(token_of(" streams", 0.5), 0.1)
        keeper.tick()
        await until(lambda: any(b" streams" in file.read_bytes() for file in tmp_path.glob(".*.run")))
        keeper.edited(Draft(prompt="typed meanwhile"))
        keeper.tick()
        await until(
            lambda: any(b"typed meanwhile" in file.read_bytes() for file in tmp_path.glob(".*.draft"))
        )
        assert keeper.is_unsaved
        assert stored(path) == [" a"]
        # Whoever writes for a moment is no reason to tell anything.
        assert keeper.take_problems() == ([], [])
    assert await keepers.aclose(60)
    assert stored(path)[:2] == [" a", " waits"]


async def test_a_session_that_closes_is_opened_again_once_it_has_let_go(tmp_path: Path) -> None:
    keepers, keeper, path = await kept(tmp_path)
    with lock_of(path):
        keeper.ended(ended(" last"))
        keeper.begin_closing()
        opening = asyncio.create_task(keepers.open(path))
        await asyncio.sleep(0)
        assert not opening.done()
    again, opened = await opening
    assert keeper.closing is not None
    assert keeper.closing.done()
    assert (opened.read_only, len(again.session.runs)) == (False, 2)
    assert await keepers.aclose(60)


async def test_a_link_that_leads_to_itself_is_refused_while_a_session_closes(tmp_path: Path) -> None:
    keepers, keeper, path = await kept(tmp_path)
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    with lock_of(path):
        keeper.ended(ended(" last"))
        keeper.begin_closing()
        with pytest.raises(StorageError, match="cannot be read"):
            await keepers.open(loop)
    assert await keepers.aclose(60)


async def test_a_defect_in_one_job_is_told_and_stops_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keepers, keeper, path = await kept(tmp_path)

    def fail(self: SessionStore, run: Run, name: str) -> None:
        raise RuntimeError("out of order")

    with monkeypatch.context() as patch:
        patch.setattr(SessionStore, "name_run", fail)
        keeper.name_run(keeper.session.runs[0], "named")
        keeper.ended(ended(" b"))
        assert not await keeper.settle()
        (problem,), _ = keeper.take_problems()
        assert "RuntimeError: out of order" in str(problem)
        assert await keepers.problem_after(60) == str(problem)
        assert keeper.take_problems() == ([], [])
        assert stored(path) == [" a", " b"]
    assert await keepers.aclose(60)
    assert tomllib.loads(path.read_text())["runs"][0]["name"] == "named"


async def test_what_cannot_be_written_is_told_once_and_written_later(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.write_text("in the way")
    keepers = Keepers(folder)
    keeper = keepers.new()
    keeper.ended(ended())
    for _ in range(2):
        assert not await keeper.settle()
    assert [isinstance(problem, StorageError) for problem in keeper.take_problems()[0]] == [True]
    folder.unlink()
    assert await keepers.aclose(60)
    assert keeper.path is not None
    assert stored(keeper.path) == [" a"]


async def test_closing_says_where_something_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.write_text("in the way")
    keeper = Keepers(folder).new()
    keeper.ended(ended())
    assert not await keeper.close()
    assert len(keeper.take_problems()[0]) == 1


async def test_an_unnamed_session_is_kept_from_its_naming_on_where_that_is_configured(tmp_path: Path) -> None:
    keepers = Keepers(tmp_path, enabled=False)
    keeper = keepers.new()
    keeper.begin_with(Draft(prompt="typed"))
    keeper.ended(ended())
    assert await keeper.settle()
    assert not files(tmp_path)
    assert keeper.is_unsaved
    assert await keeper.rename("named")
    assert not keeper.is_unsaved
    assert await keepers.aclose(60)
    path = keeper.path
    assert path is not None
    found = tomllib.loads(path.read_text())
    assert (found["title"], found["draft"]["prompt"], stored(path)) == ("named", "typed", [" a"])


async def test_whoever_stops_waiting_takes_nothing_away(tmp_path: Path) -> None:
    keepers, keeper, path = await kept(tmp_path)
    with lock_of(path):
        keeper.ended(ended(" b"))
        closing = asyncio.create_task(keeper.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
    assert await keepers.aclose(60)
    assert stored(path) == [" a", " b"]


async def test_names_given_here_stay_beside_what_another_window_adds(tmp_path: Path) -> None:
    keepers, keeper, path = await kept(tmp_path)
    other = SessionStore.open(path).store
    other.rename("theirs")
    other.finish(ended(" theirs"))
    other.close()
    keeper.name_run(keeper.session.runs[0], "mine")
    added = await keeper.news()
    assert [run.ordered[0].text for run in added] == [" theirs"]
    assert [run.name for run in keeper.session.runs] == ["mine", ""]
    assert keeper.title == "theirs"
    assert await keepers.aclose(60)
    assert [run.get("name", "") for run in tomllib.loads(path.read_text())["runs"]] == ["mine", ""]
