"""The keys that go from token to token do what their rows of the command table say."""

from __future__ import annotations

import pytest

from tests.client.loopback import DONE, answering
from tests.tui.scripted import answer, logprob_event, until, workbench
from tests.tui.test_wiring import toasts
from workbench.storage.config import load_state
from workbench.tui.tokens.token_view import OTHER

ANSWER = b"".join(
    logprob_event(text, logprob, "stop" if text == " e" else None)
    for text, logprob in ((" a", -0.1), (" b", -3.0), (" a", -0.1), (" d", -3.5), (" e", -0.1))
)


@pytest.mark.parametrize(
    ("keys", "position"),
    [
        (["home", "full_stop"], 1),
        (["home", "full_stop", "full_stop"], 3),
        (["end", "comma"], 3),
        (["home", "greater_than_sign"], 1),
        (["end", "less_than_sign"], 3),
        (["slash", "a", "enter", "home", "n"], 2),
        (["slash", "a", "enter", "end", "N"], 2),
        (["home", "right", "left"], 0),
    ],
)
async def test_keys_go_to_the_token_they_name(keys: list[str], position: int) -> None:
    async with workbench(answering(ANSWER + DONE)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
        await pilot.press("f4", *keys)
        cursor = app.main.output.view.cursor
        assert cursor is not None
        assert cursor[1] == position


async def test_shift_and_an_arrow_select_tokens() -> None:
    async with workbench(answering(ANSWER + DONE)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
        await pilot.press("f4", "home", "shift+right", "shift+right")
        assert app.main.output.view.selected_text() == " a b a"


@pytest.mark.parametrize("key", ["right", "left", "down", "up"])
async def test_the_first_arrow_goes_to_what_surprises_in_the_newest_answer(key: str) -> None:
    async with workbench(answering(ANSWER)) as (app, pilot, _):
        for runs in (1, 2):
            await pilot.press("ctrl+j")
            await until(pilot, lambda runs=runs: len(app.main.output.runs) == runs)  # type: ignore[misc]
            await until(pilot, lambda: not app.workspace.runs.is_streaming)
        await pilot.press("f4", key)
        found = app.main.output.token
        assert found is not None
        assert (found[0], found[2]) == (app.main.output.runs[-1], 1)


async def test_where_nothing_surprises_the_first_arrow_goes_to_the_first_token() -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "left")
        found = app.main.output.token
        assert found is not None
        assert found[2] == 0


async def test_a_key_that_can_do_nothing_says_why() -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "2", "home", "9", "i", "end", "down", "down", "down", "down", "enter", "y")
        await pilot.press("8")
        assert toasts(app) == [
            "Press ← or → to select a token first.",
            "There is no alternative 9: 3 alternatives are listed.",
            OTHER,
            OTHER,
            "There is no alternative 8: 3 alternatives are listed.",
        ]
        assert len(app.main.output.runs) == 1


@pytest.mark.parametrize("keys", [("down", "enter"), ("2",)])
async def test_the_inspector_branches_with_its_row_and_with_a_digit(keys: tuple[str, ...]) -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, loopback):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "home", "i", *keys)
        await until(pilot, lambda: len(app.main.output.runs) == 2)
        await until(pilot, lambda: not app.workspace.runs.is_streaming)
        parent = app.main.output.runs[1].parent
        assert parent is not None and (parent.token, parent.alternative) == (0, " other")
        assert str(loopback.requests[1].json["prompt"]).endswith(" other")


async def test_the_colours_chosen_by_name_are_remembered_like_those_chosen_by_key() -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, _):
        await pilot.press("ctrl+p", *"colour", "enter")
        await until(pilot, lambda: load_state(app.services.folders).colour_by == "continuous")
