"""The output's own keys, and the mouse."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import exp, log

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Label, OptionList

from tests.client.loopback import Received, answering, head
from tests.tui.scripted import answer, logprob_event, until, use_parameters, workbench
from workbench.domain.choice import Choice
from workbench.domain.colour_modes import Mode, legend
from workbench.domain.parameters import Parameters
from workbench.storage.config import load_state
from workbench.storage.session_file import load_demo
from workbench.tui.app import WorkbenchApp
from workbench.tui.main.thresholds import read_probability
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import Form
from workbench.tui.replay.screen import ReplayScreen
from workbench.tui.tokens.token_view import TokenView
from workbench.workspace.services import Services


@asynccontextmanager
async def answered(*texts: str) -> AsyncGenerator[tuple[WorkbenchApp, Pilot[int]]]:
    """The workbench with one answer, and the output in focus."""
    async with workbench(answering(answer(*texts))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
        await pilot.press("f4")
        yield app, pilot


async def test_c_goes_through_what_the_colours_tell_and_the_legend_says_it() -> None:
    async with answered(" a", " b") as (app, pilot):
        seen = [app.main.legend.mode]
        # The difference between two models comes only where there is a second scoring.
        once = set(Mode) - {Mode.DIFFERENCE}
        for _ in once:
            await pilot.press("c")
            await pilot.pause()
            seen.append(app.main.legend.mode)
        assert seen[0] is seen[-1] is Mode.FITTED
        assert set(seen) == once


async def test_the_legend_says_which_scale_the_colours_have() -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, _):
        use_parameters(app, Parameters({"temperature": 0.7}))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)

        def words() -> str:
            return app.main.legend.render_line(0).text

        assert words().split() == ["fitted", "to", "temperature", "0.7", "≥81%", "36%", "9%", "1%", "<1%"]
        await pilot.press("f4", "c")
        assert words().startswith(" continuous, fitted to temperature 0.7 ")
        await pilot.press("c")
        assert words().startswith(" probability, fixed scale ") and "≥90%" in words()


async def test_the_legend_shows_every_sample_at_80_columns() -> None:
    async with workbench(answering(answer(" a", " b")), (80, 24)) as (app, pilot, _):
        use_parameters(app, Parameters({"temperature": 0.75, "top_p": 0.95, "top_k": 40, "min_p": 0.05}))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        for mode in Mode:
            app.main.legend.mode = mode
            shown = app.main.legend.render_line(0)
            assert shown.cell_length == 80
            samples = [word for word in legend(mode, app.main.legend.scale) if word]
            assert " ".join(shown.text.split()).endswith(" ".join(samples))


async def test_j_and_k_go_from_run_to_run() -> None:
    async with answered(" a", " b") as (app, pilot):
        for number in (2, 3):
            await pilot.press("ctrl+j")
            await until(pilot, lambda number=number: len(app.main.output.runs) == number)  # type: ignore[misc]
            await until(pilot, lambda: not app.workspace.runs.is_streaming)
        keys = [run.id for run in app.main.output.runs]
        gone = []
        for key in ("k", "k", "k", "k", "j", "right", "j", "j"):
            await pilot.press(key)
            gone.append(app.main.output.view.cursor)
        cursors = [(2, 0), (1, 0), (0, 0), (0, 0), (1, 0), (1, 1), (2, 0), (2, 0)]
        assert gone == [(f"{keys[run]}:0", token) for run, token in cursors]


async def test_a_new_run_comes_into_view_wherever_the_cursor_was() -> None:
    async with answered(" a", " b") as (app, pilot):
        # All of it is in view, and the cursor keeps it from following.
        await pilot.press("right")
        assert not app.main.output.view.is_following
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 2)
        assert app.main.output.view.is_following


async def test_frame_bars_and_cursor_are_of_the_same_run() -> None:
    sent = 0

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        sent += 1
        writer.write(head() + (answer(" a", " b") if sent == 1 else logprob_event(" c") * 20))
        await writer.drain()
        if sent > 1:
            await received.gone.wait()

    async with workbench(handle) as (app, pilot, _):
        output = app.main.output
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(output.runs) == 2 and output.runs[1].tokens == 20)
        await until(pilot, lambda: "20 tok" in str(output.border_subtitle))
        await pilot.press("f4", "k", "k")
        await until(pilot, lambda: str(output.border_subtitle) == "")
        assert output.answer is not None and output.answer[0] is output.runs[0]
        await pilot.press("j")
        await until(pilot, lambda: "20 tok" in str(output.border_subtitle))


async def test_w_shows_blanks() -> None:
    async with answered(" a", " b") as (app, pilot):
        await pilot.press("w")
        assert app.main.output.view.whitespace
        await pilot.press("w")
        assert not app.main.output.view.whitespace


async def test_slash_finds_and_escape_ends_the_search_without_quitting() -> None:
    async with answered(" apple", " pear", " plum") as (app, pilot):
        await pilot.press("slash", *"pear")
        await until(pilot, lambda: app.main.output.view.cursor is not None)
        cursor = app.main.output.view.cursor
        assert cursor is not None
        assert cursor[1] == 1
        await pilot.press("escape")
        assert app.main.focused is app.main.output.view
        assert not app.main.output.query_one("#find", Input).has_class("-open")


async def test_y_copies_the_exact_answer() -> None:
    async with answered(" a\u2028", "\tb\r") as (app, pilot):
        await pilot.press("y")
        assert app.clipboard == " a\u2028\tb\r"


async def test_ctrl_c_copies_what_is_selected() -> None:
    async with answered(" a", " b", " c") as (app, pilot):
        await pilot.press("end", "left", "shift+right")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: bool(app.clipboard))
        assert app.clipboard == " b c"


async def test_ctrl_c_copies_what_is_selected_only_where_that_is_seen() -> None:
    async with answered(" a", " b", " c") as (app, pilot):
        await pilot.press("end", "left", "shift+right", "p")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
        await pilot.press("ctrl+c")
        assert app.clipboard == ""
        await pilot.press("escape", "f1")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.clipboard == " b c")
        assert app.main.output.view.selected_text() == ""


async def test_the_cursor_s_token_shows_in_inspector_and_strip() -> None:
    async with answered(" a", " b") as (app, pilot):
        await pilot.press("end")
        found = app.main.output.token
        assert found is not None
        assert found[2] == 1


@pytest.mark.parametrize("word", ["Help", "Commands"])
async def test_a_click_on_a_footer_key_does_it(word: str) -> None:
    async with answered(" a") as (app, pilot):
        at = app.main.footer.render().plain.index(word)
        await pilot.click("Footer", offset=(at, 0))
        await until(pilot, lambda: app.screen is not app.main)


async def test_a_key_that_is_clicked_in_a_last_row_is_pressed() -> None:
    app = WorkbenchApp(Services.open(os.environ), demo=load_demo())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(app.screen.query(KeyRow)) and app.screen is not app.main)
        row = app.screen.query_one(KeyRow)
        await pilot.pause()
        await pilot.click(row, offset=(row.render().plain.index("Back"), 0))
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("f4", "f3")
        panel = app.main.parameters
        await until(pilot, lambda: panel.has_focus and "x Unset" in app.main.footer.render().plain)
        panel.go_to("max_tokens")
        await pilot.click(app.main.footer, offset=(app.main.footer.render().plain.index("Unset"), 0))
        await until(pilot, lambda: panel.parameters.get("max_tokens") is None)
        await app.leave()


async def test_a_click_on_a_token_puts_the_cursor_there() -> None:
    async with answered(" apple", " pear") as (app, pilot):
        prompt = "The lighthouse keeper opened the door and"
        await pilot.click("TokenView", offset=(len(prompt) + 2, 1))
        await until(pilot, lambda: app.main.output.view.cursor is not None)
        cursor = app.main.output.view.cursor
        assert cursor is not None
        assert cursor[1] == 0


async def test_keys_typed_right_behind_one_that_moves_the_focus_go_to_the_new_pane() -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, _):
        before = app.main.prompt.text
        app.post_message(events.Key("f4", None))
        app.post_message(events.Key("c", "c"))
        await until(pilot, lambda: app.main.legend.mode is not Mode.FITTED)
        assert app.main.prompt.text == before


async def test_a_click_on_a_bar_goes_to_its_token_where_the_window_is_tall() -> None:
    async with answered(" a", " b", " c", " d") as (app, pilot):
        bars = app.main.output.bars
        assert bars.region.height == 1
        await pilot.click(bars, offset=(2, 0))
        await until(pilot, lambda: app.main.output.token is not None)
        found = app.main.output.token
        assert found is not None
        assert found[2] == 2
        assert app.main.focused is app.main.output.view
        await pilot.resize_terminal(120, 39)
        await until(pilot, lambda: bars.region.height == 0)


async def test_the_bars_are_of_the_answer_with_the_cursor() -> None:
    async with answered(" a", " b") as (app, pilot):
        await pilot.press("home")
        await pilot.press("ctrl+j")
        output = app.main.output
        await until(pilot, lambda: len(output.runs) == 2 and not output.runs[-1].is_running)
        assert bars_of(app) == (output.runs[0].choices[0], 0)
        await pilot.press("end")
        await until(pilot, lambda: bars_of(app) == (output.runs[1].choices[0], 1))


def bars_of(app: WorkbenchApp) -> tuple[Choice, int | None]:
    """The choice that the bars are of, and the token they mark."""
    bars = app.main.output.bars
    assert bars._peaks is not None
    return bars._peaks.choice, bars._position


async def test_selecting_by_line_and_to_the_ends_copies_the_exact_text() -> None:
    async with answered(" a\n", " b", "\tc\n", " d") as (app, pilot):
        await pilot.press("home", "shift+down", "ctrl+c")
        await until(pilot, lambda: app.clipboard == " a\n b\tc\n")
        await pilot.press("left")
        assert not app.main.output.view.selected_text()
        await pilot.press("shift+end", "ctrl+c")
        await until(pilot, lambda: app.clipboard == " b\tc\n d")
        await pilot.press("left", "left", "shift+home", "ctrl+c")
        await until(pilot, lambda: app.clipboard == " a\n b")


async def test_b_shows_where_each_token_ends() -> None:
    async with answered(" a", " b") as (app, pilot):
        await pilot.press("b")
        assert app.main.output.view.boundaries
        await pilot.press("b")
        assert not app.main.output.view.boundaries


async def test_thresholds_are_asked_for_and_taken() -> None:
    async with answered(" a", " b") as (app, pilot):
        view, another = app.main.output.view, TokenView()
        app.main.do("surprise_threshold")
        await until(pilot, lambda: isinstance(app.screen, Form))
        assert app.screen.query_one(Input).value == "10%"
        app.screen.query_one(Input).value = "60%"
        await pilot.press("enter")
        await until(pilot, lambda: view.thresholds.surprising == -log(0.6))
        await until(pilot, lambda: load_state(app.services.folders).surprising == pytest.approx(0.6))
        app.main.do("coverage_threshold")
        await until(pilot, lambda: isinstance(app.screen, Form))
        await pilot.press(*"nothing", "enter")
        wrong = app.screen.query_one("#wrong", Label)
        await until(pilot, lambda: "nothing is not a probability" in str(wrong.render()))
        assert "Type 10%" in str(wrong.render())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert view.thresholds.low_coverage == 0.5
        await app.main.mount(another)
        await until(pilot, lambda: another.thresholds == view.thresholds)


@pytest.mark.parametrize(
    ("text", "probability"),
    [("10%", 0.1), (" 2.5 % ", 0.025), ("0.3", 0.3), ("1 nat", exp(-1)), ("2.3 nats", exp(-2.3))],
)
def test_a_probability_is_read_as_people_write_it(text: str, probability: float) -> None:
    assert read_probability(text) == pytest.approx(probability)


@pytest.mark.parametrize("text", ["", "x", "0", "1", "100%", "-1%", "nan", "inf nats", "-2 nats", "1e999"])
def test_what_is_no_probability_is_none(text: str) -> None:
    assert read_probability(text) is None


async def test_capital_l_lists_all_runs_and_goes_to_the_one_found_by_its_text() -> None:
    sent = 0

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        sent += 1
        writer.write(head() + answer(" pear" if sent == 2 else " plum", " tree"))
        await writer.drain()

    async with workbench(handle) as (app, pilot, loopback):
        for number in (1, 2, 3):
            await pilot.press("ctrl+j")
            await until(pilot, lambda number=number: len(app.main.output.runs) == number)  # type: ignore[misc]
            await until(pilot, lambda: not app.workspace.runs.is_streaming)
        await pilot.press("f4", "L")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        rows = [str(option.prompt).split(" · ") for option in app.screen.query_one(OptionList).options]
        assert [row[0].split() for row in rows] == [["3", "—"], ["2", "—"], ["1", "—"]]
        assert rows[1][1:4] == ["pear tree", "done", "end of text"]
        await pilot.press(*"peartree", *["left"] * 4, "space")
        await until(pilot, lambda: len(app.screen.query_one(OptionList).options) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.output.view.cursor == (f"{app.workspace.runs[1].id}:0", 0)
        for text in (f"{loopback.base_url} scripted", "lighthouse", "end of text"):
            await pilot.press("L")
            await until(pilot, lambda: isinstance(app.screen, Picker))
            app.screen.query_one(Input).value = text
            await pilot.pause()
            assert len(app.screen.query_one(OptionList).options) == 3
            await pilot.press("escape")
        await pilot.press("L", *"nowhere")
        await until(pilot, lambda: app.screen.has_class("-empty"))


async def test_where_the_inspector_is_a_drawer_it_does_not_lie_over_the_branch_it_began() -> None:
    async with workbench(answering(answer(" a", " b")), (80, 24)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "right", "i")
        await until(pilot, lambda: app.main.side.has_class("-open"))
        await pilot.press("2")
        await until(pilot, lambda: len(app.main.output.runs) == 2)
        assert not app.main.side.has_class("-open")
        assert app.main.focused is app.main.output.view
