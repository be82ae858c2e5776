"""Hints name the keys that the person has set, not the built-in ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.screen import Screen
from textual.widgets import Label, Static

from tests.client.loopback import answering
from tests.domain.builders import choice_of, run_of, token_of
from tests.tui.scripted import answer, do, until, workbench
from tests.tui.test_wiring import configure, toasts
from workbench.tui.app import WorkbenchApp
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.multi_picker import MultiPicker, Selection
from workbench.tui.popups.picker import Item
from workbench.tui.popups.popup import Box
from workbench.tui.popups.question import Question, TextPopup
from workbench.tui.presets.preset_picker import PresetPicker
from workbench.tui.probe.screen import ProbeScreen
from workbench.tui.prompt.flow import CurlPopup

KEYS = """[keys]
yes = "j"
no = "k"
duplicate_preset = "ctrl+k"
test_endpoint = "ctrl+k"
choose_item = "x"
take_items = "f6"
vary_item = "z"
switch_items = "w"
take_text = "f6, ctrl+k"
take_curl = "f6"
send_probe = "f6"
undo = "f6"
"""


def frame(screen: Screen[Any]) -> str:
    """The keys at the bottom of a popup."""
    return str(screen.query_one(Box).border_subtitle)


def several(app: WorkbenchApp) -> MultiPicker:
    """A list with every key of its own."""
    switch = "shared seed", "own seeds"
    return MultiPicker(
        "Compare", [Item("a", "a")], Selection(), least=1, most=2, can_vary="other endpoint", switch=switch
    )


CASES: list[tuple[Callable[[WorkbenchApp], Screen[Any]], str, str]] = [
    (lambda _: Question("Send?", "send", "cancel"), "Label", "j send   k cancel"),
    (lambda app: PresetPicker(app.services.folders, app.workspace.request.parameters), "", "^K duplicate"),
    (several, "", "x toggle · F6 compare"),
    (several, "#further", "z other endpoint · w shared seed"),
    (lambda _: TextPopup("System prompt", ""), "", "F6, Ctrl+K accept"),
    (lambda app: CurlPopup(app.services.endpoints), "", "F6 import prompt and parameters"),
    (lambda app: ProbeScreen(app.services, app.services.endpoint, ""), "#now", "F6 sends at most"),
    (
        lambda app: EndpointsScreen(app.services, app.workspace.drafting.endpoint, ""),
        "#details",
        "Ctrl+K tests it",
    ),
]


@pytest.mark.parametrize(("screen", "part", "expected"), CASES)
async def test_a_screen_names_the_keys_that_work(
    screen: Callable[[WorkbenchApp], Screen[Any]], part: str, expected: str
) -> None:
    configure(KEYS)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        shown = screen(app)
        await app.push_screen(shown)
        await pilot.pause()
        if part == "Label":
            texts = [str(label.render()) for label in shown.query(Label)]
        else:
            texts = [str(shown.query_one(part, Static).render()) if part else frame(shown)]
        assert expected in "\n".join(texts)


async def test_a_deletion_names_the_key_that_undoes_it() -> None:
    configure(KEYS)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        app.workspace.runs.add([run_of(choice_of([token_of(" a", 0.5)]))])
        await do(app, "delete_run")
        await until(pilot, lambda: bool(toasts(app)))
        assert toasts(app) == ["1 run deleted; F6 restores it."]
