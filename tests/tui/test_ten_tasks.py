"""The ten tasks of a new user, each in the fewest keys; typed text is not counted."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which

from textual.pilot import Pilot

from tests.client.loopback import Loopback, answering, serving
from tests.tui.scripted import answer, until
from workbench.runner.import_curl import curl_from_text
from workbench.storage.endpoint_list import endpoints_folder
from workbench.storage.files import Folders
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.multi_picker import MultiPicker
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import LinePopup
from workbench.tui.replay.screen import ReplayScreen
from workbench.workspace.services import Services


class Hands:
    """Presses keys, and counts those that are not typed text."""

    def __init__(self, app: WorkbenchApp, pilot: Pilot[int]) -> None:
        self.app, self._pilot = app, pilot
        self._keys = 0
        self.counts: list[int] = []

    async def press(self, key: str) -> None:
        """Press a key."""
        self._keys += 1
        await self._pilot.press(key)

    async def write(self, text: str) -> None:
        """Type a text."""
        await self._pilot.press(*text)

    async def see(self, screen: type) -> None:
        """Wait until a screen is there."""
        await until(self._pilot, lambda: isinstance(self.app.screen, screen))

    async def see_answers(self, count: int) -> None:
        """Wait until so many runs have ended."""
        runs = self.app.workspace.runs
        await until(self._pilot, lambda: len(runs) == count and not runs.is_streaming)

    @contextmanager
    def task(self, keys: int) -> Iterator[None]:
        """A task that takes so many keys."""
        self._keys = 0
        yield
        assert self._keys == keys
        self.counts.append(keys)


async def test_ten_tasks_take_no_key_more_than_they_need() -> None:
    async with (
        serving(answering(answer(" went", " in", "."))) as here,
        serving(answering(answer("."))) as there,
    ):
        folder = endpoints_folder(Folders.default(os.environ))
        folder.mkdir(parents=True)
        for name, server in (("here", here), ("there", there)):
            (folder / f"{name}.toml").write_text(f'base_url = "{server.base_url}"\n', encoding="utf-8")
        counts = await _until_quitting(here) + await _from_reopening(here)
    assert counts == [1, 2, 1, 2, 2, 2, 1, 1, 4, 2]


async def _until_quitting(here: Loopback) -> list[int]:
    app = WorkbenchApp(Services.open(dict(os.environ), "here"))
    async with app.run_test(size=(120, 40)) as pilot:
        hands = Hands(app, pilot)
        await until(pilot, lambda: app.main.focused is app.main.prompt)
        with hands.task(keys=1):  # stream
            await hands.press("ctrl+j")
            await hands.see_answers(1)
        assert app.workspace.runs[0].ordered[0].text == " went in."
        with hands.task(keys=2):  # why this token
            await hands.press("f4")
            await hands.press("right")
            await until(pilot, lambda: "49.7%" in str(app.main.inspector.body.render()))
        assert "·other" in str(app.main.inspector.body.render())
        with hands.task(keys=1):  # branch
            await hands.press("2")
            await hands.see_answers(2)
        assert here.requests[-1].json["prompt"] == f"{here.requests[0].json['prompt']} other"
        with hands.task(keys=2):  # temperature, and run
            await hands.press("f3")
            await hands.write("0.3")
            await hands.press("ctrl+j")
            await hands.see_answers(3)
        assert here.requests[-1].json["temperature"] == 0.3
        with hands.task(keys=2):  # two presets side by side
            await hands.press("f8")
            await hands.see(MultiPicker)
            await hands.press("enter")
            await hands.see(CompareScreen)
            await hands.see_answers(5)
        assert [run.request.parameters.get("temperature") for run in app.workspace.runs[3:]] == [0.3, 0]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        with hands.task(keys=2):  # save under a name
            await hands.press("ctrl+s")
            await hands.see(LinePopup)
            await hands.write("door")
            await hands.press("enter")
            await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
        assert app.workspace.keeper.title == "door"
        with hands.task(keys=1):  # quit; the next start reopens
            await hands.press("ctrl+q")
            await until(pilot, lambda: app.return_code == 0)
        return hands.counts


async def _from_reopening(here: Loopback) -> list[int]:
    app = WorkbenchApp(Services.open(dict(os.environ)))
    async with app.run_test(size=(120, 40)) as pilot:
        hands = Hands(app, pilot)
        await until(pilot, lambda: len(app.workspace.runs) == 5 and app.main.focused is app.main.prompt)
        assert app.main.header.session == "door"
        sent = len(here.requests)
        with hands.task(keys=1):  # replay
            await hands.press("f10")
            await hands.see(ReplayScreen)
            screen = app.screen
            assert isinstance(screen, ReplayScreen)
            await until(pilot, lambda: screen.replay.is_over)
        assert screen.replay.run.ordered[0].text == " went in."
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        drafting = app.workspace.drafting
        with hands.task(keys=4):  # another endpoint, and back
            await hands.press("ctrl+t")
            await hands.see(EndpointsScreen)
            await hands.write("there")
            await hands.press("enter")
            await until(pilot, lambda: drafting.endpoint.name == "there")
            await hands.press("ctrl+t")
            await hands.see(EndpointsScreen)
            await hands.press("enter")
            await until(pilot, lambda: drafting.endpoint.name == "here")
        assert len(here.requests) == sent, "nothing of this is sent"
        with hands.task(keys=2):  # copy as curl
            await hands.press("ctrl+p")
            await hands.see(Picker)
            await hands.write("curl")
            await hands.press("enter")
            await until(pilot, lambda: app.clipboard.startswith("curl "))
        assert curl_from_text(app.clipboard).request.prompt == app.workspace.runs[-1].request.prompt
        if which("curl"):
            process = await asyncio.create_subprocess_exec("sh", "-c", app.clipboard, stdout=DEVNULL)
            assert await process.wait() == 0
            assert here.requests[-1].json == {**app.workspace.runs[-1].sent, "model": "scripted"}
        await app.leave()
        return hands.counts
