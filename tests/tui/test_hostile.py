"""What must not disturb the screen: any size at any moment, giant lines, and names that would be obeyed."""

from __future__ import annotations

import asyncio
import json
import random
from functools import partial

from textual import events
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Input

from tests.client.loopback import DONE, JSON, Received, answering, event, head
from tests.tui.scripted import answer, logprob_event, until, workbench
from tests.tui.test_main_screen import has_ended
from workbench.domain.display import token_text
from workbench.tui.app import WorkbenchApp
from workbench.tui.editor.inputs import MOST
from workbench.tui.popups.question import LinePopup

HOSTILE = "[b]m[/b] [/nope] [@click=app.quit]x\x1b[31m\x1b]0;t\x07\x9b2J\u202e\u2066\ud800\u200b"
"""Markup, escape sequences, bidirectional controls and a lone surrogate."""
OBEYED = set("\x1b\x07\x9b\u202e\u2066\ud800\u200b")


def nothing_is_obeyed(app: WorkbenchApp) -> bool:
    """Whether the screen shows the hostile text as it is, with nothing in it that a terminal acts on."""
    text = shown(app)
    return "[b]m[/b]" in text and not OBEYED & set(text)


def shown(app: WorkbenchApp) -> str:
    """What is on the screen."""
    return app.export_screenshot().replace("&#160;", " ")


def resize(app: WorkbenchApp, width: int, height: int) -> None:
    """Let the terminal have another size, without waiting until the screen has followed."""
    size = Size(width, height)
    if isinstance(app._driver, HeadlessDriver):
        app._driver._size = size
    app.post_message(events.Resize(size, size))


async def back(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """To the main screen."""
    while app.screen is not app.main:
        top = app.screen
        await pilot.press("escape")
        await until(pilot, partial(lambda top: app.screen is not top, top))


async def test_hundreds_of_sizes_in_the_middle_of_a_stream_lose_no_text_and_no_place() -> None:
    go = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + b"".join(logprob_event(f" word{number}") for number in range(300)))
        await writer.drain()
        await go.wait()
        writer.write(answer(" at", " last"))
        await writer.drain()

    async with workbench(handle) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 300)
        await pilot.press("f4", "home", *["right"] * 7)
        cursor = app.main.output.view.cursor
        chance = random.Random(3)
        for number in range(1, 301):
            resize(app, chance.randint(1, 220), chance.randint(1, 60))
            if number % 40 == 0:
                await pilot.pause()
        resize(app, 120, 40)
        go.set()
        await until(pilot, lambda: has_ended(app, 1) and app.main.size == (120, 40))
        text = "".join(f" word{number}" for number in range(300)) + " at last"
        assert app.main.output.runs[0].ordered[0].text == text
        assert app.main.output.view.cursor == cursor
        await until(pilot, lambda: " word7" in shown(app))


async def test_a_line_of_ten_megabytes_is_taken_and_the_keys_go_on() -> None:
    line = "lorem ipsum " * 900_000
    async with workbench(answering(event(line, finish_reason="stop") + DONE)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: has_ended(app, 1))
        assert app.main.output.runs[0].ordered[0].text == line
        await pilot.press("f4", "end")
        await until(pilot, lambda: "ipsum" in shown(app))
        assert len(token_text(line)) < 400, "what tells of the token under the cursor reads not all of it"
        await pilot.press("f3")
        assert app.main.focused is app.main.parameters


async def test_hostile_names_and_errors_are_shown_and_never_obeyed() -> None:
    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.path.endswith("/models"):
            await answering(json.dumps({"data": [{"id": HOSTILE}]}).encode(), 200, JSON)(received, writer)
        elif len(received.json) and received.json.get("max_tokens") == 1:
            await answering(json.dumps({"error": {"message": HOSTILE}}).encode(), 404, JSON)(received, writer)
        else:
            await answering(event(HOSTILE, finish_reason="stop", model=HOSTILE) + DONE)(received, writer)

    async with workbench(handle, (160, 45)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: has_ended(app, 1))
        assert await app.workspace.keeper.rename(HOSTILE)
        app.workspace.drafting.use_model(HOSTILE)
        await pilot.press("f4", "p")
        await until(pilot, lambda: app.screen is not app.main and nothing_is_obeyed(app))
        for command in ("sessions", "choose_model", "save", "help", "chat", "compare"):
            await back(app, pilot)
            app.main.do(command)
            await until(pilot, lambda: app.screen is not app.main)
            await until(pilot, lambda: nothing_is_obeyed(app))


async def test_a_toast_says_what_a_file_or_a_server_named_and_obeys_nothing_of_it() -> None:
    async with workbench(answering(DONE)) as (app, pilot, _):
        app.notify(HOSTILE, title=HOSTILE)
        app.screen.notify(HOSTILE, title=HOSTILE)
        await until(pilot, lambda: len(app._notifications) == 2)
        for toast in app._notifications:
            assert "[b]m[/b]" in toast.message and "[b]m[/b]" in toast.title and not toast.markup
            assert not OBEYED & set(toast.message + toast.title)


async def test_a_line_shows_what_was_pasted_as_glyphs_and_keeps_it_exactly() -> None:
    async with workbench(answering(DONE)) as (app, pilot, _):
        app.push_screen(LinePopup("Name", ""))
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        line = app.screen.query_one(Input)
        line.post_message(events.Paste(HOSTILE))
        await until(pilot, lambda: line.value == HOSTILE)
        assert nothing_is_obeyed(app)
        line.post_message(events.Paste("x" * 5_000_000))
        await until(pilot, lambda: len(app._notifications) == 1)
        assert line.value == HOSTILE


async def test_a_line_that_is_longer_than_may_be_typed_can_be_made_shorter() -> None:
    async with workbench(answering(DONE)) as (app, pilot, _):
        app.push_screen(LinePopup("Name", "x" * (MOST + 2)))
        await until(pilot, lambda: isinstance(app.screen, LinePopup) and app.screen.focused is not None)
        await pilot.press("end", "backspace")
        assert len(app.screen.query_one(Input).value) == MOST + 1
