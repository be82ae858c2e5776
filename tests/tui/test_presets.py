"""Presets on the main screen: what they would change, applying one, and keeping the panel as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from workbench.domain.preset import Preset
from workbench.domain.request import Parameters
from workbench.storage.folders import Folders
from workbench.storage.presets import load_presets
from workbench.tui.screens.popup import Picker
from workbench.tui.screens.presets import changes_of
from workbench.tui.screens.question import Question


def test_the_line_of_a_preset_tells_what_it_would_change() -> None:
    preset = Preset("p", Parameters({"temperature": 1.0, "min_p": 0.05}))
    current = Parameters({"temperature": 0.7, "top_p": 0.5, "max_tokens": 9})
    told = changes_of(preset, current)
    assert told == "temperature 0.7 → 1 · top_p 0.5 → unset · min_p unset → 0.05"
    assert changes_of(preset, preset.applied_to(current)) == "as the panel is"


def test_applying_keeps_what_does_not_shape_the_distribution() -> None:
    preset = Preset("p", Parameters({"temperature": 0.2}))
    applied = preset.applied_to(Parameters({"top_k": 40, "max_tokens": 9, "seed": 3, "logprobs": 5}))
    assert applied == Parameters({"temperature": 0.2, "max_tokens": 9, "seed": 3, "logprobs": 5})


async def test_a_chosen_preset_is_in_the_panel() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press(*"creative", "enter")
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.parameters.parameters.get("temperature") == 1.2
        assert app.main.parameters.parameters.get("max_tokens") == 128


async def test_the_panel_is_kept_under_a_name_and_replaced_only_after_a_question() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        folders = Folders.default(os.environ)
        for temperature, asks in ((0.3, False), (0.4, True)):
            app.main.parameters.set_parameters(Parameters({"temperature": temperature}))
            app.main.do("save_preset")
            await until(pilot, lambda: isinstance(app.screen, Picker))
            app.screen.query_one(Input).value = "my [own]"
            await pilot.pause()
            await pilot.press("enter")
            if asks:
                await until(pilot, lambda: isinstance(app.screen, Question))
                assert load_presets(folders).presets["my [own]"].parameters.get("temperature") == 0.3
                await pilot.press("y")
            await until(pilot, lambda: app.screen is app.main)
            assert load_presets(folders).presets["my [own]"].parameters.get("temperature") == temperature


@pytest.fixture
def broken_preset() -> None:
    """A file among the person's presets that is none."""
    folder = Path(os.environ["WORKBENCH_HOME"], "config", "presets")
    folder.mkdir(parents=True)
    (folder / "broken.toml").write_text("name = [")


@pytest.mark.usefixtures("broken_preset")
async def test_a_broken_preset_file_is_told_and_the_others_are_offered() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        assert app.screen.query_one(OptionList).option_count == 6
        assert any("broken.toml" in one.message for one in app._notifications)
