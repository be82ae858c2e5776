"""What is typed and streamed is kept without being asked, and comes back at the next start."""

from __future__ import annotations

import errno
import os
import threading
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label

from tests.cli.test_run import workbench as command_line
from tests.client.loopback import answering, hanging, head, in_turn
from tests.domain.builders import choice_of, run_of
from tests.tui.scripted import answer, logprob_event, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.prompt import TextPrompt
from workbench.domain.run import Outcome
from workbench.domain.session import Draft, Session
from workbench.storage.session_store import OpenedSession, SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.tui.main.header import Header
from workbench.tui.popups.question import LinePopup, Question
from workbench.tui.sessions.screen import SessionsScreen

BROKEN = 'format = 1\nid = "x\n'


def sessions() -> list[Path]:
    """The session files there are."""
    return sorted(Path(os.environ["WORKBENCH_HOME"], "data", "sessions").glob("*.toml"))


def write_broken(folder: Path, text: str = BROKEN) -> Path:
    """A session file that is no TOML, or holds another text."""
    folder.mkdir(parents=True)
    path = folder / "broken.toml"
    path.write_text(text)
    return path


def beside(path: Path) -> list[Path]:
    """All files in a session's folder, hidden ones too."""
    return list(path.parent.iterdir())


def block(folder: Path) -> Callable[[], None]:
    """Put a file where a folder should be; what is returned takes it away."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    return folder.unlink


def run_ended(app: WorkbenchApp) -> bool:
    """Whether there is a run and the newest has ended."""
    return bool(app.main.output.runs) and not app.main.output.runs[-1].is_running


async def run_once(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Send the draft and wait until its answer is written."""
    await pilot.press("ctrl+j")
    await until(pilot, partial(run_ended, app))
    await until(pilot, lambda: not app.workspace.keeper.is_unsaved)


async def test_looking_around_writes_nothing() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("f4", "c", "f2")
        app.main.keep()
        await app.workspace.keeper.settle()
        assert not sessions()


async def test_a_finished_run_is_in_a_file_at_once() -> None:
    async with workbench(answering(answer(" went", " in"))) as (app, pilot, _):
        await run_once(app, pilot)
        (path,) = sessions()
    runs = SessionStore.open(path).session.runs
    assert [run.ordered[0].text for run in runs] == [" went in"]


async def test_the_next_start_goes_on_where_this_one_ended() -> None:
    async with workbench(answering(answer(" went"))) as (app, pilot, _):
        await pilot.press(*"!?", "f3")
        await run_once(app, pilot)
        prompt, parameters = app.workspace.prompt, app.main.parameters.parameters
    async with workbench(answering(answer(" went"))) as (app, pilot, _):
        await until(pilot, lambda: len(app.main.output.runs) == 1)
        assert app.workspace.prompt == prompt
        assert app.main.parameters.parameters == parameters


async def test_what_streamed_is_kept_when_the_process_ends_in_the_middle() -> None:
    async with workbench(hanging(head() + logprob_event(" went"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 1)
        app.main.keep()
        await app.workspace.keeper.settle()
        (path,) = sessions()
        beside = [other for other in path.parent.rglob("*") if other.is_file() and other != path]
        assert any(b" went" in other.read_bytes() for other in beside)
        await pilot.press("escape")
        await until(pilot, lambda: app.main.output.runs[0].outcome is Outcome.STOPPED)
        await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
    assert SessionStore.open(path).session.runs[0].ordered[0].text == " went"


async def test_a_session_is_named_left_for_a_new_one_and_opened_again() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await run_once(app, pilot)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        app.screen.query_one(Input).value = "light[house"
        await pilot.press("enter")
        await until(pilot, lambda: app.main.header.session == "light[house")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: app.main.header.session == "untitled")
        assert not app.main.output.runs
        assert app.workspace.prompt == TextPrompt("")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.main.header.session == "light[house")
        await until(pilot, lambda: len(app.main.output.runs) == 1)


@pytest.mark.parametrize("keys", [("ctrl+j",), ("f12",), ("ctrl+s",)])
async def test_a_session_whose_file_takes_long_to_read_is_not_opened_under_what_was_begun_meanwhile(
    keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = in_turn(answering(answer(" in")), hanging(head() + logprob_event(" went")))
    async with workbench(handler) as (app, pilot, _):
        await run_once(app, pilot)
        first = app.workspace.keeper.path
        assert first is not None
        await pilot.press("ctrl+n", *"second")
        app.main.keep()
        await until(pilot, lambda: app.workspace.session_path not in (None, first))
        second, read, opened = app.workspace.keeper, threading.Event(), SessionStore.open

        def open_late(path: Path, *, create: bool = False) -> OpenedSession:
            found = opened(path, create=create)
            assert read.wait(60)
            return found

        monkeypatch.setattr(SessionStore, "open", open_late)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 2)
        await pilot.press("down", "enter")
        # Keys are held back for a moment, and no longer.
        await until(pilot, lambda: app.screen is app.main and not app.flows.is_opening())
        await pilot.press(*keys)
        await until(pilot, lambda: app.workspace.runs.is_streaming or app.screen is not app.main)
        read.set()
        await until(pilot, lambda: any(toast.title == "Session" for toast in app._notifications))
        assert app.workspace.keeper is second
        assert len(app.workspace.runs) == (keys == ("ctrl+j",))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main and not app.workspace.runs.is_streaming)
        monkeypatch.undo()
        await app.workspace.open(first)
        assert len(app.workspace.runs) == 1


async def test_a_broken_session_is_shown_with_its_error_and_not_overwritten() -> None:
    folder = Path(os.environ["WORKBENCH_HOME"], "data", "sessions")
    broken = write_broken(folder)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.main.output.error.has_class("-shown"))
        assert app.main.output.view.sections[0].prompt == '    1  format = 1\n    2  id = "x\n    3  '
        app.main.keep()
        await app.workspace.keeper.settle()
        await app.main.open_session(broken)
        assert beside(broken) == [broken]
        await pilot.press("f2", "z")
        app.main.keep()
        await app.workspace.keeper.settle()
        assert len(sessions()) == 2
    assert broken.read_text() == BROKEN


async def test_what_is_done_in_a_session_to_read_only_is_kept_in_one_of_its_own() -> None:
    folder = Path(os.environ["WORKBENCH_HOME"], "data", "sessions")
    newer = write_broken(folder, 'format = 2\ntitle = "from the future"\n')
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await app.main.open_session(newer)
        await run_once(app, pilot)
        await until(pilot, lambda: app.main.header.session == "from the future (copy)")
        assert app.workspace.keeper.path is not None
        (run,) = tomllib.loads(app.workspace.keeper.path.read_text())["runs"]
        assert run["choices"][0]["text"] == " in"
        await until(
            pilot,
            lambda: any("is read-only; changes go to a new session" in toast for toast in toasts(app)),
        )
    assert newer.read_text() == 'format = 2\ntitle = "from the future"\n'


async def test_a_folder_that_takes_no_locks_is_written_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EINVAL, "refused")

    monkeypatch.setattr("fcntl.flock", refuse)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await run_once(app, pilot)
        (path,) = sessions()
        assert not app._notifications
    assert beside(path) == [path]
    assert len(SessionStore.open(path).session.runs) == 1


async def test_runs_wait_in_memory_while_no_session_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    free = block(Path(os.environ["WORKBENCH_HOME"], "data", "sessions"))
    attempts: list[Path] = []
    create = SessionStore.create

    def counted(path: Path, session: Session | None = None) -> SessionStore:
        attempts.append(path)
        return create(path, session)

    monkeypatch.setattr(SessionStore, "create", counted)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, partial(run_ended, app))
        await until(pilot, lambda: len(set(attempts)) > 2)
        assert len([toast for toast in toasts(app) if "cannot be" in toast]) == 1
        assert app.workspace.keeper.is_unsaved
        free()
        await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
        (path,) = sessions()
    assert len(SessionStore.open(path).session.runs) == 1


async def test_leaving_asks_while_something_cannot_be_saved() -> None:
    free = block(Path(os.environ["WORKBENCH_HOME"], "data", "sessions"))
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, partial(run_ended, app))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Question))
        question = str(app.screen.query(Label).first().visual)
        folder = Path(os.environ["WORKBENCH_HOME"], "data", "sessions")
        assert question.endswith(f"cannot be written. Not a directory. Check that {folder} is a folder.")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        free()
        await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_code == 0)
    assert len(sessions()) == 1


async def test_opening_the_open_session_changes_nothing() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await run_once(app, pilot)
        keeper, (path,) = app.workspace.keeper, sessions()
        await pilot.press(*" newer", "ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main and not app.workspace.keeper.is_unsaved)
        assert app.main.prompt.text.endswith(" newer")
        assert app.workspace.keeper is keeper
        await app.main.open_session(path.parent / "." / ".." / path.parent.name / path.name)
        assert app.workspace.keeper is keeper
    assert sessions() == [path]
    assert SessionStore.open(path).session.draft.prompt.endswith(" newer")


def add_run(path: Path) -> str:
    """What another window does: add a run to a session; gives the run's id."""
    run = run_of(choice_of([" elsewhere"]))
    store = SessionStore.open(path).store
    store.finish(run)
    store.close()
    return run.id


async def test_what_another_window_adds_is_shown_and_kept() -> None:
    async with workbench(answering(answer(" here"))) as (app, pilot, _):
        await run_once(app, pilot)
        (path,) = sessions()
        id = add_run(path)
        await until(pilot, lambda: [run.id for run in app.main.output.runs[1:]] == [id])
        assert len(app.main.output.view.sections) == 2
        await run_once(app, pilot)
        assert len(app.main.output.runs) == 3
    texts = [run.ordered[0].text for run in SessionStore.open(path).session.runs]
    assert texts == [" here", " elsewhere", " here"]


async def test_what_the_command_line_adds_is_shown() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        await run_once(app, pilot)
        (path,) = sessions()
        done = await command_line(
            "run", "--prompt", "Twice", "--endpoint", loopback.base_url, "--session", str(path)
        )
        assert (done.status, done.err) == (0, "")
        await until(pilot, lambda: len(app.main.output.runs) == 2)
        assert app.main.output.runs[1].request.prompt == TextPrompt("Twice")


async def test_what_others_add_while_something_streams_is_shown_after_it() -> None:
    handler = in_turn(answering(answer(" here")), hanging(head() + logprob_event(" went")))
    async with workbench(handler) as (app, pilot, _):
        await run_once(app, pilot)
        (path,) = sessions()
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and app.main.output.runs[1].tokens == 1)
        id = add_run(path)
        await pilot.press("escape")
        await until(pilot, lambda: [run.id for run in app.main.output.runs[2:]] == [id])


async def test_a_file_that_is_deleted_meanwhile_is_written_again_and_that_is_said() -> None:
    async with workbench(answering(answer(" here"))) as (app, pilot, _):
        await run_once(app, pilot)
        (path,) = sessions()
        path.unlink()
        await until(pilot, path.exists)
        await until(pilot, lambda: any("deleted" in toast for toast in toasts(app)))
    assert len(SessionStore.open(path).session.runs) == 1


async def test_another_title_given_elsewhere_is_shown() -> None:
    async with workbench(answering(answer(" here"))) as (app, pilot, _):
        await run_once(app, pilot)
        (path,) = sessions()
        store = SessionStore.open(path).store
        store.rename("tale")
        store.close()
        await until(pilot, lambda: app.main.header.session == "tale")


async def test_the_draft_of_a_second_window_becomes_a_session_of_its_own() -> None:
    async with workbench(answering(answer("a"))) as (app, pilot, _):
        await run_once(app, pilot)
        path = app.workspace.keeper.path
        assert path is not None
        second = SessionStore.open(path).store
        second.save_draft(Draft(prompt="typed in the second window"))
        second.close()
    async with workbench(answering(answer("a"))) as (app, pilot, _):
        await until(pilot, lambda: app.workspace.keeper.path == path)
        await until(pilot, lambda: len(sessions()) == 2)
    (other,) = {*sessions()} - {path}
    opened = SessionStore.open(other)
    opened.store.close()
    assert opened.session.draft.prompt == "typed in the second window"
    assert opened.session.title.startswith("draft beside")


async def test_saving_says_the_name_and_the_file() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        assert "^S Save" in app.main.footer.render().plain
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        await pilot.press(*"story", "enter")
        await until(pilot, lambda: bool(app._notifications))
        (path,) = sessions()
        assert [toast.message for toast in app._notifications] == [f"Saved as story in {path}"]


async def test_a_session_that_comes_back_never_has_another_name_before() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await run_once(app, pilot)
        assert await app.workspace.keeper.rename("story")
    names: list[str] = []

    def note(header: Header, old: str, new: str) -> None:
        names.append(new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Header, "watch_session", note, raising=False)
        async with workbench(answering(answer(" in"))) as (app, pilot, _):
            await until(pilot, lambda: app.main.header.session == "story")
    assert [name for name in names if name] == ["story"]
