"""What was done to the session is taken back and made again, whichever pane it was done in."""

from __future__ import annotations

import tomllib
from functools import partial

from textual import events

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import PromptKind
from workbench.tui.popups.picker import Picker
from workbench.workspace.first_draft import FIRST_DRAFT

ONE = answering(answer(" went", " in"))


async def test_parameters_and_prompt_are_taken_back_from_any_pane_in_the_order_they_were_made() -> None:
    async with workbench(ONE) as (app, pilot, _):
        main = app.main
        prompt, parameters = main.prompt.text, main.parameters.parameters
        await pilot.press("end", *"!?", "f3")
        main.parameters.go_to("temperature")
        await pilot.press("plus")
        stepped = main.parameters.parameters
        assert (main.prompt.text, stepped != parameters) == (f"{prompt}!?", True)
        await pilot.press("f4", "u")
        await until(pilot, lambda: main.parameters.parameters == parameters)
        assert main.prompt.text == f"{prompt}!?"
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.prompt.text == prompt)
        await pilot.press("u")
        await until(pilot, lambda: "Nothing to undo." in toasts(app))
        await pilot.press("ctrl+y", "U")
        await until(pilot, lambda: main.parameters.parameters == stepped)
        assert main.prompt.text == f"{prompt}!?"
        assert "Undone: temperature unset → 1" in toasts(app)
        assert "Redone: the prompt" in toasts(app)


async def test_the_editor_undoes_its_own_typing_and_then_what_was_done_elsewhere() -> None:
    async with workbench(ONE) as (app, pilot, _):
        main = app.main
        prompt, parameters = main.prompt.text, main.parameters.parameters
        await pilot.press("f3")
        main.parameters.go_to("temperature")
        await pilot.press("plus", "f2", "end", "x", "ctrl+z")
        await until(pilot, lambda: main.prompt.text == prompt)
        assert main.parameters.parameters != parameters
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.parameters.parameters == parameters)


async def test_typing_and_a_parameter_are_undone_in_order_with_the_keys_of_the_prompt_alone() -> None:
    async with workbench(ONE) as (app, pilot, _):
        main = app.main
        await pilot.press("ctrl+n", *"Alpha beta", "f3")
        main.parameters.go_to("temperature")
        await pilot.press(*"1.1", "enter", "f2", *" gamma")
        unset = Parameters(FIRST_DRAFT)
        set_to = unset.set("temperature", 1.1)

        def is_at(prompt: str, parameters: Parameters) -> bool:
            shown = main.prompt.text, main.parameters.parameters
            return (
                shown
                == (app.workspace.drafting.text, app.workspace.drafting.parameters)
                == (prompt, parameters)
            )

        steps = [("Alpha beta gamma", set_to), ("Alpha beta", set_to), ("Alpha beta", unset), ("", unset)]
        assert is_at(*steps[0])
        for step in steps[1:]:
            await pilot.press("ctrl+z")
            await until(pilot, partial(is_at, *step))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "Nothing to undo." in toasts(app))
        assert is_at(*steps[-1])
        for step in reversed(steps[:-1]):
            await pilot.press("ctrl+y")
            await until(pilot, partial(is_at, *step))


async def test_what_is_pasted_over_a_selection_is_undone_apart_from_what_is_typed_after_it() -> None:
    async with workbench(ONE) as (app, pilot, _):

        def has(text: str) -> bool:
            return app.main.prompt.text == app.workspace.drafting.text == text

        await pilot.press("ctrl+n", *"one two", "shift+home")
        app.post_message(events.Paste("three\nfour"))
        await until(pilot, partial(has, "three\nfour"))
        await pilot.press(*"!?", "backspace", "backspace", "backspace")
        await until(pilot, partial(has, "three\nfou"))
        for text in ("three\nfour!?", "three\nfour", "one two", ""):
            await pilot.press("ctrl+z")
            await until(pilot, partial(has, text))


async def test_letters_are_typed_in_a_text_and_undo_nothing() -> None:
    async with workbench(ONE) as (app, pilot, _):
        prompt = app.main.prompt.text
        await pilot.press("end", "u", "U")
        assert app.main.prompt.text == f"{prompt}uU"


async def test_a_kind_and_a_model_chosen_in_popups_are_taken_back() -> None:
    async with workbench(ONE) as (app, pilot, _):
        main = app.main
        main.do("choose_kind")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press(*"texts", "enter")
        await until(pilot, lambda: app.workspace.drafting.kind is PromptKind.TEXTS)
        await until(pilot, lambda: len(app.workspace.history) == 1)
        app.workspace.drafting.use_model("another")
        main.do("undo")
        await until(pilot, lambda: app.workspace.drafting.model == "")
        assert app.workspace.drafting.kind is PromptKind.TEXTS
        main.do("undo")
        await until(pilot, lambda: app.workspace.drafting.kind is PromptKind.TEXT)


async def test_a_preset_is_taken_back_with_its_name() -> None:
    async with workbench(ONE) as (app, pilot, _):
        main = app.main
        before = app.workspace.drafting.draft
        await pilot.press("ctrl+l")
        await until(pilot, lambda: app.screen is not main)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.workspace.drafting.draft.preset != "" and app.screen is main)
        applied = app.workspace.drafting.draft
        await pilot.press("f4", "u")
        await until(pilot, lambda: app.workspace.drafting.draft == before)
        await pilot.press("U")
        await until(pilot, lambda: app.workspace.drafting.draft == applied)
        assert app.workspace.drafting.preset is not None


async def test_another_session_has_nothing_to_take_back() -> None:
    async with workbench(ONE) as (app, pilot, _):
        main = app.main
        await pilot.press("end", "x", "f4")
        await until(pilot, lambda: bool(len(app.workspace.history)))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: main.prompt.text == "")
        main.do("undo")
        await until(pilot, lambda: "Nothing to undo." in toasts(app))
        assert main.prompt.text == ""
        assert main.parameters.parameters != Parameters()


async def test_a_deleted_run_comes_back_and_goes_again_on_the_screen_and_in_the_file() -> None:
    async with workbench(ONE) as (app, pilot, _):
        output, keeper = app.main.output, app.workspace.keeper

        def have_ended(count: int) -> bool:
            return len(output.runs) == count and not output.runs[-1].is_running

        for count in (1, 2, 3):
            await pilot.press("ctrl+j")
            await until(pilot, partial(have_ended, count))
        made = list(output.runs)
        await pilot.press("f4", "x")
        await until(pilot, lambda: output.runs == made[:2] and not keeper.is_unsaved)
        output.view.move_cursor(f"{made[0].id}:0", 0)
        await pilot.press("x")
        await until(pilot, lambda: output.runs == made[1:2] and not keeper.is_unsaved)
        assert keeper.path is not None
        assert [run["id"] for run in tomllib.loads(keeper.path.read_text())["runs"]] == [made[1].id]
        await pilot.press("u", "u")
        await until(pilot, lambda: output.runs == made and not keeper.is_unsaved)
        assert [run["id"] for run in tomllib.loads(keeper.path.read_text())["runs"]] == [
            run.id for run in made
        ]
        await pilot.press("U")
        await until(pilot, lambda: output.runs == made[:2] and not keeper.is_unsaved)
        assert "Redone: the deletion of run 3" in toasts(app)
