"""The sessions screen: sessions are found, opened, renamed, tagged, copied, deleted and brought back."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.client.loopback import answering
from tests.domain.builders import choice_of, run_of, token_of
from tests.tui.scripted import SIZES, answer, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.session import Session
from workbench.storage.files import Folders
from workbench.storage.session_store import SessionStore
from workbench.storage.sessions_folder import Library, Listed
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.question import LinePopup
from workbench.tui.sessions import screen as sessions_module
from workbench.tui.sessions.screen import SearchEntry, SessionsScreen, ranked

HELD = 30.0
"""Seconds after which a thread that is held up goes on, and its test fails."""


def library() -> Library:
    """The test's own sessions folder."""
    return Library(Folders.default(os.environ))


def keep(title: str, text: str = " upon") -> Path:
    """A session of one run."""
    store = SessionStore.create(library().new_path(title), Session(title=title))
    store.finish(run_of(choice_of([token_of(text, 0.5, other=0.1)]), prompt="Once"))
    store.close()
    return store.path


def shown(screen: SessionsScreen, id: str) -> str:
    """The text of one part of the screen."""
    return str(screen.query_one(f"#{id}").render())


@asynccontextmanager
async def sessions_screen(
    count: int, size: tuple[int, int] = (120, 40)
) -> AsyncGenerator[tuple[WorkbenchApp, Pilot[int], SessionsScreen]]:
    """The screen, once it shows that many sessions."""
    async with workbench(answering(answer(" in")), size) as (app, pilot, _):
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == count)
        screen = app.screen
        assert isinstance(screen, SessionsScreen)
        await until(pilot, lambda: (screen.highlighted is not None) is (count > 0))
        yield app, pilot, screen


def titles(screen: SessionsScreen) -> list[str]:
    """The titles that the list shows."""
    return [session.title for session in screen.shown]


async def named(app: WorkbenchApp, pilot: Pilot[int], name: str) -> None:
    """Answer the question for a name."""
    await until(pilot, lambda: isinstance(app.screen, LinePopup))
    app.screen.query_one(Input).value = name
    await pilot.press("enter")


# --- searching ---------------------------------------------------------------------------------------


def found(query: str, *sessions: tuple[str, str]) -> list[str]:
    """The titles found among sessions of a title and a text."""
    entries = [SearchEntry.of(Listed(title, title, "", 0, 0, text=text)) for title, text in sessions]
    return [session.title for session in ranked(entries, query)]


def test_without_words_the_order_stays() -> None:
    assert found("", ("b", ""), ("a", "")) == ["b", "a"]


def test_a_word_is_found_in_titles_before_texts_and_whole_before_by_letters() -> None:
    sessions = [("x", "the LIGHT"), ("y", "a long night"), ("lantern height", ""), ("Light", "")]
    assert found("light", *sessions) == ["Light", "x"]
    assert found("lnt", *sessions) == ["lantern height"]


def test_letters_must_begin_a_word_and_stay_in_it() -> None:
    assert found("lhs", ("Lighthouse", ""), ("a lamp, his", ""), ("slothhouse", "")) == ["Lighthouse"]


def test_every_word_must_be_found() -> None:
    assert found("zan one", ("one", "Zanzibar"), ("two", "Zanzibar")) == ["one"]


def test_signs_are_no_pattern() -> None:
    assert found(".*[(^-]", ("a", "b")) == []
    assert found("c++ [x", ("c++", "[x]")) == ["c++"]


def test_a_search_never_goes_back_over_a_text() -> None:
    # A pattern that tries again from every letter it passed would not end in this century.
    assert found("a" * 40 + "b", ("x", "a" * 4000)) == []


# --- the screen --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_typing_finds_a_session_and_enter_opens_it(size: tuple[int, int]) -> None:
    keep("Light[house", " Zanzibar")
    keep("other")
    async with sessions_screen(2, size) as (app, pilot, screen):
        await pilot.press(*"zanz")
        await until(pilot, lambda: titles(screen) == ["Light[house"])
        await until(pilot, lambda: "Once\n Zanzibar" in shown(screen, "details"))
        assert "1 of 2" in shown(screen, "about")
        assert screen.query_one("#details", Static).region.height > 0
        await pilot.press("enter")
        await until(pilot, lambda: app.main.header.session == "Light[house")
        await until(pilot, lambda: len(app.main.output.runs) == 1)


async def test_what_is_typed_is_looked_at_first_though_the_open_session_fits_too() -> None:
    opened = keep("other", " lantern")
    keep("lantern")
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await app.main.open_session(opened)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 2)
        screen = app.screen
        assert isinstance(screen, SessionsScreen)

        def title() -> str:
            return screen.highlighted.title if screen.highlighted is not None else ""

        await until(pilot, lambda: title() == "other")
        await pilot.press(*"lantern")
        await until(pilot, lambda: titles(screen) == ["lantern", "other"] and title() == "lantern")
        await pilot.press("enter")
        await until(pilot, lambda: app.main.header.session == "lantern")


async def test_escape_goes_back_to_the_session_that_is_open() -> None:
    keep("other")
    async with sessions_screen(1) as (app, pilot, _):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await until(pilot, lambda: app.main.header.session == "untitled")


async def test_a_folder_that_cannot_be_read_says_why_and_where() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        library = Library(Folders.default(os.environ))
        library.folder.parent.mkdir(parents=True, exist_ok=True)
        library.folder.symlink_to("/dev/null")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: bool(toasts(app)))
        why = f"sessions cannot be read\nNot a directory\nCheck {library.folder} and its permissions."
        assert toasts(app) == [why]


async def test_without_sessions_every_key_is_harmless() -> None:
    async with sessions_screen(0) as (app, pilot, screen):
        await pilot.press("down", "enter", "ctrl+r", "ctrl+t", "ctrl+d", "ctrl+x", "ctrl+z", "x")
        await until(pilot, lambda: "0 of 0" in shown(screen, "about"))
        assert app.screen is screen


async def test_a_session_gets_another_title() -> None:
    path = keep("old")
    async with sessions_screen(1) as (app, pilot, screen):
        await pilot.press("ctrl+r")
        await named(app, pilot, "[new]")
        await until(pilot, lambda: titles(screen) == ["[new]"])
    assert SessionStore.open(path).session.title == "[new]"


async def test_a_session_gets_tags_by_which_it_is_found_and_loses_them() -> None:
    keep("one")
    keep("two")
    async with sessions_screen(2) as (app, pilot, screen):
        tagged = screen.highlighted
        assert tagged is not None
        await pilot.press("ctrl+t")
        await named(app, pilot, "good, [odd] ,, good")
        await until(pilot, lambda: any(session.tags == ("good", "[odd]") for session in screen.shown))
        await pilot.press(*"[odd")
        await until(pilot, lambda: titles(screen) == [tagged.title])
        assert "[odd]" in shown(screen, "details")
        await pilot.press("ctrl+t")
        await named(app, pilot, "")
        await until(pilot, lambda: not screen.shown)


async def test_a_copy_is_a_session_of_its_own() -> None:
    keep("tale")
    async with sessions_screen(1) as (_, pilot, screen):
        await pilot.press("ctrl+d")
        await until(pilot, lambda: sorted(titles(screen)) == ["tale", "tale (copy)"])
        await until(
            pilot, lambda: screen.highlighted is not None and screen.highlighted.title == "tale (copy)"
        )


async def test_a_change_goes_on_after_the_list_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("tale")
    left, duplicate = threading.Event(), Library.duplicate

    def slow(library: Library, path: Path) -> Path:
        assert left.wait(HELD)
        return duplicate(library, path)

    monkeypatch.setattr(Library, "duplicate", slow)
    async with sessions_screen(1) as (app, pilot, _):
        await pilot.press("ctrl+d", "escape")
        await until(pilot, lambda: app.screen is app.main)
        left.set()
        await until(pilot, lambda: not app.flows.is_opening())
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 2)


async def test_a_deletion_is_taken_back() -> None:
    path = keep("precious")
    keep("other")
    before = path.read_bytes()
    async with sessions_screen(2) as (_, pilot, screen):
        await pilot.press(*"prec")
        await until(pilot, lambda: titles(screen) == ["precious"])
        await pilot.press("ctrl+x")
        await until(pilot, lambda: not screen.shown)
        assert not path.exists()
        await pilot.press("ctrl+z")
        await until(pilot, lambda: titles(screen) == ["precious"])
        assert path.read_bytes() == before


async def test_deleting_twice_deletes_two() -> None:
    for title in ("one", "two", "three"):
        keep(title)
    async with sessions_screen(3) as (_, pilot, screen):
        await pilot.press("ctrl+x", "ctrl+x")
        await until(pilot, lambda: len(screen.shown) == 1)


async def test_the_session_that_is_open_is_not_deleted() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[0].is_running)
        await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 1)
        await pilot.press("ctrl+x")
        await pilot.pause()
        assert app.workspace.keeper.path is not None
        assert app.workspace.keeper.path.exists()


async def test_a_broken_file_is_listed_with_its_error_and_its_line() -> None:
    path = library().new_path("broken")
    path.parent.mkdir(parents=True)
    path.write_text('format = 1\nid = "x\n')
    async with sessions_screen(1) as (_, pilot, screen):
        await until(pilot, lambda: "line 2: " in shown(screen, "details"))
        assert 'id = "x' in shown(screen, "details")
        await pilot.press("ctrl+d")
        await until(
            pilot, lambda: any("broken" in notification.message for notification in screen.app._notifications)
        )
        assert len(screen.shown) == 1


async def test_hostile_text_is_shown_and_not_obeyed() -> None:
    keep("[red]\x1b[31m[", " [/]\x1b]0;x\x07")
    async with sessions_screen(1) as (_, pilot, screen):
        await until(pilot, lambda: "[/]\\e]0;x\\a" in shown(screen, "details"))
        assert "\x1b" not in shown(screen, "details")
        assert "[red]\\e[31m[" in str(screen.listing.options.get_option_at_index(0).prompt)


async def test_keys_are_answered_while_files_are_read_and_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        keep(f"session {number}")
    read, search, searching = threading.Event(), threading.Event(), threading.Event()
    search.set()

    class Slow(Library):
        def sessions(self) -> list[Listed]:
            assert read.wait(HELD), "nothing else had a turn while the files were read"
            return super().sessions()

    def slow(entries: Iterable[SearchEntry], text: str) -> Sequence[Listed]:
        if not search.is_set():
            searching.set()
        assert search.wait(HELD), "nothing else had a turn while the entries were searched"
        return ranked(entries, text)

    monkeypatch.setattr(sessions_module, "ranked", slow)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        screen = SessionsScreen(Slow(Folders.default(os.environ)), None)
        app.push_screen(screen)
        await until(pilot, lambda: app.screen is screen)
        await pilot.press(*"session")
        assert screen.listing.filter.value == "session"
        search.clear()
        read.set()
        await until(pilot, searching.is_set)
        await pilot.press("space", *"1")
        assert (screen.listing.filter.value, list(screen.shown)) == ("session 1", [])
        search.set()
        await until(pilot, lambda: len(screen.shown) == 3)
