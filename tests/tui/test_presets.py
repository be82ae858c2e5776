"""Presets on the main screen: what they would change, applying one, and keeping the panel as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from tests.client.loopback import answering
from tests.tui.scripted import answer, do, until, use_parameters, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.storage.files import Folders
from workbench.storage.presets import delete_preset, load_presets, save_preset
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import LinePopup, Question
from workbench.tui.presets.preset_picker import PresetPicker, changes_of


def test_the_line_of_a_preset_tells_what_it_would_change() -> None:
    preset = Preset("p", Parameters({"temperature": 1.0, "min_p": 0.05}))
    current = Parameters({"temperature": 0.7, "top_p": 0.5, "max_tokens": 9})
    changes = changes_of(preset, current)
    assert changes == "temperature 0.7 → 1 · top_p 0.5 → unset · min_p unset → 0.05"
    assert changes_of(preset, preset.applied_to(current)) == "same as current settings"


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


@pytest.mark.parametrize("keys", [("ctrl+l", "down", "enter"), ("ctrl+n",)])
async def test_the_panel_has_the_focus_once_other_parameters_replace_what_is_being_typed(
    keys: tuple[str, ...],
) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("f3")
        app.main.parameters.go_to("seed")
        await pilot.press("7", *keys)
        await until(pilot, lambda: app.screen is app.main and not app.main.parameters.editor.display)
        await pilot.press("8", "enter")
        await until(pilot, lambda: app.main.parameters.parameters.get("seed") == 8)


async def test_a_run_names_its_preset_only_while_its_parameters_are_the_preset_s() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        runs = app.main.output.runs
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).presets["precise"])
        await do(app, "run")
        await until(pilot, lambda: len(runs) == 1 and not app.workspace.runs.is_streaming)
        await do(app, "run_again")
        await until(pilot, lambda: len(runs) == 2 and not app.workspace.runs.is_streaming)
        app.main.parameters.go_to("temperature")
        app.main.parameters.action_step(1)
        await do(app, "run")
        await until(pilot, lambda: len(runs) == 3 and not app.workspace.runs.is_streaming)
        assert [run.preset for run in runs] == ["precise", "precise", ""]


async def test_the_panel_is_kept_under_a_name_and_replaced_only_after_a_question() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        folders = Folders.default(os.environ)
        for temperature, asks in ((0.3, False), (0.4, True)):
            use_parameters(app, Parameters({"temperature": temperature}))
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
        assert any("broken.toml" in toast for toast in toasts(app))


async def open_presets(app: WorkbenchApp, pilot: Pilot[int], highlighted: str) -> None:
    """Open the list, and look at a preset."""
    await pilot.press("ctrl+l")
    await until(pilot, lambda: isinstance(app.screen, PresetPicker))
    await pilot.press(*highlighted)
    await until(pilot, lambda: picker_of(app).highlighted == highlighted)


def picker_of(app: WorkbenchApp) -> PresetPicker:
    """The list of presets on top."""
    assert isinstance(app.screen, PresetPicker)
    return app.screen


async def type_line(app: WorkbenchApp, pilot: Pilot[int], text: str) -> None:
    """Answer what asks for one line."""
    await until(pilot, lambda: isinstance(app.screen, LinePopup))
    app.screen.query_one(Input).value = text
    await pilot.pause()
    await pilot.press("enter")


async def test_a_shipped_preset_is_duplicated_and_the_copy_renamed_and_deleted() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        folders = Folders.default(os.environ)
        await open_presets(app, pilot, "creative")
        await pilot.press("ctrl+d")
        await until(pilot, lambda: picker_of(app).highlighted == "creative 2")
        await pilot.press("ctrl+r")
        await type_line(app, pilot, "wild [b]")
        await until(pilot, lambda: isinstance(app.screen, PresetPicker))
        assert list(load_presets(folders).files) == ["wild [b]"]
        assert picker_of(app).highlighted == "wild [b]"
        await pilot.press("ctrl+x")
        await until(pilot, lambda: isinstance(app.screen, Question))
        assert list(load_presets(folders).files) == ["wild [b]"]
        await pilot.press("y")
        await until(pilot, lambda: not load_presets(folders).files)


@pytest.mark.parametrize("key", ["ctrl+r", "ctrl+x"])
async def test_the_programs_own_presets_are_left_as_they_are(key: str) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await open_presets(app, pilot, "greedy")
        await pilot.press(key)
        await until(pilot, lambda: any("Duplicate it" in toast for toast in toasts(app)))
        assert isinstance(app.screen, PresetPicker)


async def test_a_preset_is_exported_to_a_file_and_imported_under_a_free_name(tmp_path: Path) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        file = tmp_path / "given.toml"
        file.write_text("mine")
        await open_presets(app, pilot, "creative")
        await pilot.press("ctrl+s")
        await type_line(app, pilot, str(file))
        await until(pilot, lambda: isinstance(app.screen, Question))
        assert file.read_text() == "mine"
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, PresetPicker))
        assert 'name = "creative"' in file.read_text()
        await pilot.press("ctrl+o")
        await type_line(app, pilot, str(file))
        await until(pilot, lambda: isinstance(app.screen, PresetPicker))
        assert picker_of(app).highlighted == "creative 2"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main)
        assert (
            app.workspace.drafting.preset is not None and app.workspace.drafting.preset.name == "creative 2"
        )


async def test_a_file_that_is_no_preset_is_told(tmp_path: Path) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await open_presets(app, pilot, "greedy")
        await pilot.press("ctrl+o")
        await type_line(app, pilot, str(tmp_path / "none.toml"))
        await until(pilot, lambda: any("none.toml" in toast for toast in toasts(app)))


@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+r", "enter"])
async def test_a_preset_whose_file_vanished_from_under_the_list_is_named(key: str) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        save_preset(app.services.folders, Preset("mine", Parameters({"temperature": 0.1})))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.screen, PresetPicker))
        await pilot.press(*"mine")
        delete_preset(app.services.folders, "mine")
        await pilot.press(key)
        message = "There is no preset named 'mine'"
        await until(
            pilot,
            lambda: (
                any(message in toast for toast in toasts(app))
                or (app.main.output.error.display and message in app.main.output.error.text)
            ),
        )


def shown_preset(app: WorkbenchApp) -> tuple[str, str]:
    """The preset's name as the panel shows it, and in the draft that the session saves."""
    return str(app.main.parameters.border_subtitle), app.workspace.drafting.draft.preset


async def test_a_preset_in_use_is_shown_under_its_new_name_also_after_undo() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        save_preset(app.services.folders, Preset("mine", Parameters({"temperature": 0.1})))
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).named("mine"))
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).named("precise"))
        app.workspace.undo()
        await open_presets(app, pilot, "mine")
        await pilot.press("ctrl+r")
        await type_line(app, pilot, "yours")
        await until(pilot, lambda: shown_preset(app) == ("preset: yours", "yours"))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        app.workspace.redo()
        await until(pilot, lambda: shown_preset(app) == ("preset: precise", "precise"))
        app.workspace.undo()
        await until(pilot, lambda: shown_preset(app) == ("preset: yours", "yours"))


async def test_a_deleted_preset_in_use_is_no_longer_shown_but_its_parameters_stay() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        save_preset(app.services.folders, Preset("mine", Parameters({"temperature": 0.1})))
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).named("mine"))
        use_parameters(app, app.workspace.drafting.parameters.set("seed", 5))
        await open_presets(app, pilot, "mine")
        await pilot.press("ctrl+x")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: shown_preset(app) == ("", ""))
        assert app.workspace.drafting.parameters.get("temperature") == 0.1
        app.workspace.undo()
        assert shown_preset(app) == ("", "")
        assert app.workspace.drafting.parameters.get("temperature") == 0.1


async def test_a_deleted_copy_gives_the_draft_back_the_built_in_preset() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        save_preset(app.services.folders, Preset("precise", Parameters({"temperature": 0.123})))
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).named("precise"))
        await open_presets(app, pilot, "precise")
        await pilot.press("ctrl+x")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: shown_preset(app) == ("preset: precise*", "precise"))
        assert app.workspace.drafting.parameters.get("temperature") == 0.123
