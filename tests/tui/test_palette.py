"""The palette: the best match first, and what else than commands can be reached from it."""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.session import Draft, Session
from workbench.storage.files import Folders
from workbench.storage.session_store import SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.picker import Item, Late, Picker
from workbench.tui.popups.popup import Box
from workbench.tui.popups.question import Form


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        ("prompt set", ["Prompt set", "Compare"]),
        ("prompt", ["Prompt", "Prompt set", "The prompt", "Run"]),
        ("light", ["light", "ink"]),
        ("set pro", ["Prompt set"]),
        ("nothing", []),
        ("", ["Run", "Compare", "The prompt", "Prompt set", "Prompt", "ink", "light"]),
    ],
)
def test_the_best_match_comes_first(typed: str, titles: list[str]) -> None:
    items = [
        Item("1", "Run", "Send the prompt and stream the answer."),
        Item("2", "Compare", "Presets on a set of prompts; one prompt set."),
        Item("3", "The prompt", ""),
        Item("4", "Prompt set", ""),
        Item("5", "Prompt", ""),
        Item("6", "ink", "light"),
        Item("7", "light", ""),
    ]
    assert [item.title for item in Picker("x", items).matching(typed)][: len(titles)] == titles


@pytest.mark.parametrize(
    ("keys", "highlighted"), [((), "c"), (("down",), "b"), (("x", "down"), "b"), (("x",), "a")]
)
async def test_late_items_leave_the_highlight_where_the_person_moved_it(
    keys: tuple[str, ...], highlighted: str
) -> None:
    found = asyncio.Event()

    async def more() -> Late:
        await found.wait()
        return Late([Item("c", "cx")], "found")

    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        picker = Picker("List", [Item("a", "ax"), Item("b", "bx")], chosen="c", more=more)
        app.push_screen(picker)
        await until(pilot, lambda: picker.highlighted == "a")
        await pilot.press(*keys)
        found.set()
        await until(pilot, lambda: str(picker.query_one(Box).border_subtitle) == "found")
        assert picker.highlighted == highlighted


async def choose(app: WorkbenchApp, pilot: Pilot[int], typed: str) -> None:
    """Type into the palette and press Enter."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(app.screen, Picker))
    for character in typed:
        await pilot.press("space" if character == " " else character)
    await pilot.press("enter")


async def test_the_command_that_is_named_is_done() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        await choose(app, pilot, "prompt set")
        await until(pilot, lambda: isinstance(app.screen, Form))
        assert app.screen._title == "Prompt set"  # type: ignore[attr-defined]
        await pilot.press("escape")
        assert loopback.requests == []


async def test_what_curl_makes_of_the_last_request_comes_before_what_it_brings() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        picker = app.screen
        assert isinstance(picker, Picker)
        assert [item.value for item in picker.matching("curl")][:2] == ["copy_as_curl", "paste_curl"]


async def test_a_parameter_is_gone_to_or_set_and_a_wrong_value_is_told() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await choose(app, pilot, "temperature 0.7")
        await until(pilot, lambda: app.main.parameters.parameters.get("temperature") == 0.7)
        await choose(app, pilot, "temperature 9")
        await until(pilot, lambda: app.main.output.error.display)
        assert app.main.parameters.parameters.get("temperature") == 0.7
        await choose(app, pilot, "top_p")
        await until(pilot, lambda: app.main.focused is app.main.parameters)
        assert app.main.parameters.field == "top_p"


async def test_presets_and_sessions_are_reached_by_name() -> None:
    path = Folders.default(os.environ).data / "sessions" / "lighthouse.toml"
    path.parent.mkdir(parents=True)
    store = SessionStore.create(path, Session(title="lighthouse", draft=Draft(prompt="kept")))
    store.save()
    store.close()
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await choose(app, pilot, "creative")
        await until(pilot, lambda: app.main.parameters.parameters.get("temperature") == 1.2)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press(*"lighthouse")
        picker = app.screen
        assert isinstance(picker, Picker)
        await until(pilot, lambda: picker.highlighted == f"session:{path}")
        await pilot.press("enter")
        await until(pilot, lambda: app.main.prompt.text == "kept")


async def test_the_last_request_is_copied_as_curl_and_as_python() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await choose(app, pilot, "copy as curl")
        await until(pilot, lambda: "Nothing has been sent" in app.main.output.error.text)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await choose(app, pilot, "copy as curl")
        await until(pilot, lambda: app.clipboard.startswith("curl "))
        await choose(app, pilot, "copy as python")
        await until(pilot, lambda: "import" in app.clipboard)


async def test_the_configuration_is_edited_and_what_is_wrong_in_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "colour = 1" > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        monkeypatch.setattr(type(app), "suspend", lambda self: nullcontext())
        await choose(app, pilot, "configuration")
        path = Folders.default(os.environ).config / "config.toml"
        await until(pilot, lambda: any("colour" in toast for toast in toasts(app)))
        assert path.read_text() == "colour = 1"


async def test_about_says_the_version_and_where_the_files_are() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await choose(app, pilot, "about")
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.screen._title == "About")
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.clipboard == str(Folders.default(os.environ).config))
