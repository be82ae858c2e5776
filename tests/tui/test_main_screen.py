"""The main screen on a scripted endpoint: run, stop, look, branch, and what goes wrong."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from rich.cells import cell_len
from textual.containers import Vertical
from textual.widgets import Input, Label, OptionList, Static

from tests.client.loopback import JSON, Received, answering, hanging, head, in_turn
from tests.tui.scripted import SIZES, answer, logprob_event, until, use_parameters, workbench
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.run import Outcome
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.table import BY_ID
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.flows import FlowContext
from workbench.tui.popups.jump import Jump
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import LinePopup, Question


def has_ended(app: WorkbenchApp, number: int) -> bool:
    """Whether so many runs were sent, and the newest has ended."""
    return len(app.main.output.runs) == number and outcome(app) is not None


def shows_notice(app: WorkbenchApp, width: int, shown: bool) -> bool:
    """Whether the screen has that width, and says that it is too small, or does not."""
    return (
        app.main.size.width == width and any(notice.display for notice in app.main.query("#notice")) is shown
    )


def outcome(app: WorkbenchApp) -> Outcome | None:
    """How the newest run ended."""
    return app.main.output.runs[-1].outcome


@pytest.mark.parametrize("size", SIZES)
async def test_one_key_streams_the_example_from_the_first_draft(size: tuple[int, int]) -> None:
    async with workbench(answering(answer(" went", " in", ".")), size) as (app, pilot, loopback):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and outcome(app) is not None)
        run = app.main.output.runs[0]
        assert run.outcome is Outcome.COMPLETE
        assert run.ordered[0].text == " went in."
        assert loopback.requests[0].json["logprobs"] == 5
        assert loopback.requests[0].json["max_tokens"] == 128
        assert app.main.output.view.sections[0].choice is run.ordered[0]
        assert app.main.focused is not None and app.main.focused.id == "prompt"


async def test_escape_stops_the_stream_and_keeps_the_text() -> None:
    async with workbench(hanging(head() + logprob_event(" went"))) as (app, pilot, loopback):
        await pilot.press("f5")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 1)
        await until(pilot, lambda: "streaming" in str(app.main.header.state))
        await until(pilot, lambda: "1 tok" in str(app.main.output.border_subtitle))
        await pilot.press("escape")
        await until(pilot, lambda: outcome(app) is Outcome.STOPPED)
        await asyncio.wait_for(loopback.requests[0].gone.wait(), 1)
        assert app.main.output.runs[0].ordered[0].text == " went"
        assert app.main.header.state.word == "stopped"
        assert app.is_running


async def test_ctrl_c_stops_whatever_has_the_focus_and_never_quits() -> None:
    async with workbench(hanging(head() + logprob_event(" went"))) as (app, pilot, _):
        await pilot.press("ctrl+j", "f1")
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.workspace.runs.is_streaming)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: outcome(app) is Outcome.STOPPED)
        assert app.is_running


async def test_a_digit_branches_with_that_alternative() -> None:
    async with workbench(answering(answer(" went", " in"))) as (app, pilot, loopback):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and outcome(app) is not None)
        await pilot.press("f4", "end", "2")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and outcome(app) is not None)
        parent = app.main.output.runs[1].parent
        assert parent is not None
        assert (parent.run, parent.token, parent.alternative) == (app.main.output.runs[0].id, 1, " other")
        assert str(loopback.requests[1].json["prompt"]).endswith("and went other")


async def test_enter_continues_and_u_takes_it_back() -> None:
    async with workbench(answering(answer(" went", " in"))) as (app, pilot, loopback):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and outcome(app) is not None)
        before = app.workspace.prompt
        await pilot.press("f4", "enter")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and outcome(app) is not None)
        assert str(loopback.requests[1].json["prompt"]).endswith("and went in")
        assert app.workspace.prompt != before
        await pilot.press("u")
        await until(pilot, lambda: app.workspace.prompt == before)


async def test_an_error_stays_with_where_and_what_next_and_retry_works() -> None:
    refused = answering(b'{"error":{"message":"no [bold]such\\u001b[31m model"}}', 404, JSON)
    async with workbench(in_turn(refused, answering(answer(" yes")))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.main.output.error.has_class("-shown"))
        assert app.main.header.state.word == "error"
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and outcome(app) is Outcome.COMPLETE)
        assert not app.main.output.error.has_class("-shown")


async def test_what_was_never_sent_offers_no_retry_and_no_other_endpoint() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        use_parameters(app, Parameters({"temperature": 9.0}))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.main.output.error.display)
        await pilot.pause()
        assert offered(app) == ["Ctrl+J Retry", "Copy", "F3 Edit temperature"]
        app.flows.run(refuse)
        await until(pilot, lambda: offered(app) == ["Copy"])
        assert loopback.requests == []


async def refuse(flow: FlowContext) -> None:
    """Do nothing, and say that it cannot be done."""
    raise BadValueError("no")


def offered(app: WorkbenchApp) -> list[str]:
    """The ways out of the error on the screen."""
    ways = app.main.output.error.query("Horizontal > *").results(Static)
    return [str(action.render()) for action in ways if action.display]


async def test_the_last_answer_is_dimmed_when_the_next_one_fails() -> None:
    handler = in_turn(answering(answer(" yes")), answering(b"{}", 500, JSON), answering(answer(" again")))
    async with workbench(handler) as (app, pilot, _):
        for number in (1, 2):
            await pilot.press("ctrl+j")
            await until(pilot, partial(has_ended, app, number))
        assert app.main.output.view.sections[0].dimmed
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 3 and outcome(app) is Outcome.COMPLETE)
        assert not app.main.output.view.sections[0].dimmed


async def test_quitting_asks_only_while_something_streams() -> None:
    async with workbench(hanging(head() + logprob_event(" went"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.workspace.runs.is_streaming)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert app.workspace.runs.is_streaming
        await pilot.press("escape")
        await until(pilot, lambda: not app.workspace.runs.is_streaming)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running or app.return_code == 0)


async def test_the_layout_changes_in_the_middle_of_a_stream() -> None:
    go = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + logprob_event(" went"))
        await writer.drain()
        await go.wait()
        writer.write(answer(" in", "."))
        await writer.drain()

    async with workbench(handle, (80, 24)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 1)
        assert not app.main.query_one("#side").display
        for width, height in ((200, 50), (40, 10), (120, 40)):
            await pilot.resize_terminal(width, height)
            await until(pilot, partial(shows_notice, app, width, width < 60))
        assert app.main.query_one("#side").display
        go.set()
        await until(pilot, lambda: outcome(app) is Outcome.COMPLETE)
        assert app.main.output.runs[0].ordered[0].text == " went in."


@pytest.mark.parametrize("size", SIZES)
async def test_the_footer_keeps_run_help_and_commands(size: tuple[int, int]) -> None:
    async with workbench(answering(answer("x")), size) as (app, _, __):
        row = app.main.footer.render().plain
        for word in ("Run", "Help", "Commands"):
            assert word in row
        assert len(row.rstrip()) <= size[0]


async def test_who_has_no_run_yet_reads_what_to_press() -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        hint = app.main.output.query_one("#hint", Static)
        assert all(key in str(hint.render()) for key in ("Ctrl+J", "F4", "F1", "Ctrl+P"))
        assert hint.display
        await pilot.press("ctrl+j")
        await until(pilot, partial(has_ended, app, 1))
        assert not hint.display
        await pilot.press("ctrl+n")
        await until(pilot, lambda: hint.display)


@pytest.mark.parametrize(("key", "expected"), [("f4", "← → Token"), ("f3", "x Unset")])
async def test_the_footer_shows_the_keys_of_the_pane_at_80_columns(key: str, expected: str) -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        await pilot.press(key)
        assert expected in app.main.footer.render().plain


async def test_a_line_with_no_room_for_all_is_said_in_full_below_the_list() -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        await pilot.press("f4", "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        more = app.screen.query_one("#more", Static)
        await pilot.press(*"find", "space", *"out")
        await until(pilot, lambda: not more.display)
        await pilot.press(*["backspace"] * 8, *"token", "space", *"id")
        await until(pilot, lambda: more.display)
        assert str(more.render()) == BY_ID["branch_ids"].help


async def test_help_shows_every_line_in_full_under_headings_that_are_not_chosen() -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        await pilot.press("f4", "f1")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        rows = app.screen.query_one(OptionList)

        def lines() -> list[str]:
            return [str(rows.get_option_at_index(row).prompt) for row in range(rows.option_count)]

        await until(
            pilot,
            lambda: all(
                cell_len(line) <= rows.scrollable_content_region.width
                for row in lines()
                for line in row.splitlines()
            ),
        )
        assert lines()[0] == "── output"
        assert {"── anywhere", "── compare", "── grid"} <= set(lines())
        rows_shown = [" ".join(line.split()) for line in lines()]
        for command in app.commands:
            assert any(text.endswith(command.help) for text in rows_shown), command.help
        assert rows.highlighted == 1
        await pilot.press("up")
        assert rows.highlighted == rows.option_count - 1
        await pilot.press("down", "s")
        await until(pilot, lambda: rows.highlighted == 0)
        assert "──" not in str(rows.get_option_at_index(0).prompt)


async def test_the_palette_does_what_is_chosen() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press(*"output")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main and app.main.focused is app.main.output.view)


async def test_help_begins_with_the_focused_pane() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("f4", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        first = str(app.screen.query_one(OptionList).get_option_at_index(1).prompt)
        assert "Token" in first


async def test_a_question_mark_typed_into_the_prompt_is_text() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("question_mark", "colon")
        assert app.screen is app.main
        assert "?:" in str(app.workspace.prompt)


async def test_a_letter_jumps_to_a_pane() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.press("s")
        await until(pilot, lambda: app.screen is app.main and app.main.focused is app.main.output.view)


async def test_the_letters_go_where_the_window_has_another_size() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: app.screen is app.main)


@pytest.mark.parametrize("size", [(120, 40), (200, 50)])
@pytest.mark.parametrize("field", ["model", "temperature", "stop", "seed"])
async def test_a_letter_jumps_to_a_field(size: tuple[int, int], field: str) -> None:
    async with workbench(answering(answer(" in")), size) as (app, pilot, _):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.screen, Jump) and bool(app.screen.query(Label)))
        assert isinstance(app.screen, Jump)
        letter = next(letter for letter, (name, _) in app.screen._targets.items() if name == field)
        await pilot.press(letter)
        await until(pilot, lambda: app.screen is app.main and app.main.focused is app.main.parameters)
        assert app.main.parameters.field == field


async def test_a_jump_takes_what_is_typed_into_another_field() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        panel = app.main.parameters
        panel.go_to("temperature")
        app.main.set_focus(panel)
        await pilot.press("1", ".", "5")
        app.main.go_to("seed")
        assert (panel.field, panel.parameters.get("temperature")) == ("seed", 1.5)
        await pilot.press("x", "9", "x")
        app.main.go_to("top_p")
        assert panel.field == "seed"
        assert app.main.focused is panel.editor
        await pilot.press("escape")


async def test_the_parameters_are_a_drawer_where_it_is_narrow() -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        assert not app.main.query_one("#side").display
        await pilot.press("f3")
        await until(pilot, lambda: app.main.query_one("#side").display)
        await pilot.press("escape")
        await until(pilot, lambda: not app.main.query_one("#side").display)
        assert app.is_running


async def test_the_url_of_an_endpoint_stands_once_in_an_error() -> None:
    refuse = answering(b'{"error":{"message":"no such model"}}', status=404, content_type=JSON)
    async with workbench(refuse, (80, 24)) as (app, pilot, loopback):
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(name="mine"))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.main.output.error.display)
        text = app.main.output.error.text
        assert text.count(loopback.base_url) == 1
        assert "at mine" in text


async def test_the_title_of_an_error_stands_once_and_in_the_output_once_the_block_has_gone() -> None:
    title = "The endpoint does not know this address or model"
    refuse = answering(b'{"error":{"message":"no such model"}}', status=404, content_type=JSON)
    async with workbench(in_turn(refuse, answering(answer(" in")))) as (app, pilot, _):

        def figures() -> list[str]:
            return [section.figures for section in app.main.output.view.sections]

        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.main.output.error.display)
        assert title in app.main.output.error.text
        assert not any(title in line for line in figures())
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and not app.workspace.runs.is_streaming)
        assert title in figures()[0]


async def test_an_empty_name_is_said_where_it_is_typed() -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        await pilot.press("enter")
        await until(pilot, lambda: "It is empty" in str(app.screen.query_one(Vertical).border_subtitle))
        assert isinstance(app.screen, LinePopup)


async def test_sending_from_the_drawer_closes_it_so_that_the_answer_is_seen() -> None:
    async with workbench(answering(answer(" in")), (80, 24)) as (app, pilot, _):
        await pilot.press("f3")
        await until(pilot, lambda: app.main.query_one("#side").display)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs))
        await until(pilot, lambda: not app.main.query_one("#side").display)
        assert app.main.focused is app.main.output.view


async def test_an_endpoint_can_be_typed_as_a_url_and_the_model_list_comes_from_it() -> None:
    models = answering(b'{"data":[{"id":"first/model"},{"id":"second/[model"}]}', content_type=JSON)
    async with workbench(models) as (app, pilot, loopback):
        app.main.do("choose_model")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 2)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.main.header.model == "second/[model")
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(app.screen, EndpointsScreen) and app.screen.focused is not None)
        app.screen.query_one(Input).value = f"{loopback.base_url}x"
        await pilot.press("enter")
        await until(pilot, lambda: app.workspace.drafting.endpoint.base_url.endswith("/v1x"))


async def test_a_theme_is_shown_while_looked_at_and_escape_brings_the_old_one_back() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        before = app.theme
        app.main.do("choose_theme")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("down")
        await until(pilot, lambda: app.theme != before)
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == before and app.screen is app.main)


async def test_a_branch_is_seen_as_it_comes_although_the_cursor_is_above() -> None:
    async with workbench(answering(answer(*(f" line{number}\n" for number in range(40))))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, partial(has_ended, app, 1))
        await pilot.press("f4", "right", "home", "2")
        await until(pilot, partial(has_ended, app, 2))
        view = app.main.output.view
        await until(pilot, lambda: view.is_following and view.scroll_offset.y >= view.max_scroll_y)


async def test_the_focus_comes_back_to_its_pane_after_the_window_was_too_small_for_it() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        for key, pane in (("f3", app.main.parameters), ("f4", app.main.output.view)):
            await pilot.press(key)
            for width in (80, 60, 50, 60, 120):
                await pilot.resize_terminal(width, 40)
                await until(pilot, lambda width=width: app.size.width == width)  # type: ignore[misc]
            await until(pilot, lambda pane=pane: app.main.focused is pane)  # type: ignore[misc]
