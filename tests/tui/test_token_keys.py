"""The keys that go from token to token do what their rows of the command table say."""

from __future__ import annotations

import pytest

from tests.client.loopback import DONE, answering
from tests.tui.scripted import logprob_event, until, workbench

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
