"""The compare screen on a scripted endpoint: presets side by side, and what can be done with them."""

from __future__ import annotations

import asyncio
import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from textual.containers import Vertical
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.client.loopback import DONE, Handler, Received, answering, head
from tests.tui.scripted import FOUR_PRESETS, SIZES, answer, logprob_event, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.alternatives import AlternativeRow, remaining_row
from workbench.domain.endpoint import Prices
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.prompt import TextPrompt
from workbench.domain.run import Outcome
from workbench.runner.compare_plan import Column, plan
from workbench.storage.probes import save_probe
from workbench.storage.session_store import SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.column import CompareColumn, trimmed
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.multi_picker import MultiPicker
from workbench.tui.popups.picker import Picker
from workbench.workspace.comparison import Comparison

BY_TEMPERATURE: Mapping[float, Sequence[str]] = {
    0: (" went", " in", "."),
    0.2: (" went", " in", " slowly", "."),
    0.7: (" went", " in", " and", " out", "."),
    1.2: (" went", " in", " dreams", "."),
}
"""What the scripted model says by temperature."""


def tempered() -> Handler:
    """A model whose answer depends on the temperature."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        temperature = received.json.get("temperature", 1)
        assert isinstance(temperature, int | float)
        writer.write(head() + answer(*BY_TEMPERATURE[temperature]))
        await writer.drain()

    return handle


def stuck() -> Handler:
    """A model that says one word and then nothing."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + logprob_event(" went"))
        await writer.drain()
        await received.gone.wait()

    return handle


def screen_of(app: WorkbenchApp) -> CompareScreen:
    """The compare screen on top."""
    assert isinstance(app.screen, CompareScreen)
    return app.screen


def columns_of(app: WorkbenchApp) -> list[CompareColumn]:
    """The columns on the screen."""
    return list(app.screen.query(CompareColumn))


def text_of(app: WorkbenchApp, id: str) -> str:
    """What one of the screen's lines says."""
    return str(app.screen.query_one(f"#{id}").render())


async def open_comparison(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Compare the first four presets."""
    await pilot.press("f8")
    await until(pilot, lambda: isinstance(app.screen, MultiPicker))
    await pilot.press(*FOUR_PRESETS, "enter")
    await until(pilot, lambda: isinstance(app.screen, CompareScreen))
    await until(pilot, lambda: len(columns_of(app)) == 4)


def titles_of(app: WorkbenchApp) -> list[str]:
    """The titles of the columns shown."""
    return [str(column.border_title) for column in columns_of(app)]


def all_ended(app: WorkbenchApp) -> bool:
    """Whether every column has its outcome, and its figures."""
    return not app.workspace.runs.is_streaming


def parts_shown(app: WorkbenchApp) -> bool:
    """Whether every column points out the third token."""
    return all_ended(app) and all(column.view.sections[0].marked == 2 for column in columns_of(app))


@pytest.mark.parametrize("size", SIZES)
async def test_four_presets_answer_one_prompt_with_one_seed(size: tuple[int, int]) -> None:
    async with workbench(tempered(), size) as (app, pilot, loopback):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        assert len({request.json["seed"] for request in loopback.requests}) == 1
        assert len({str(request.json["prompt"]) for request in loopback.requests}) == 1
        texts_shown = sorted(
            str(column.choice.text) for column in columns_of(app) if column.choice is not None
        )
        assert texts_shown == sorted("".join(texts) for texts in BY_TEMPERATURE.values())
        assert "(random)" in text_of(app, "about")


async def test_the_current_settings_and_the_first_preset_are_compared_first_then_those_compared_last() -> (
    None
):
    async with workbench(answering(answer(" in", ".")), (80, 24)) as (app, pilot, _):
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        box = app.screen.query_one(Vertical)
        hint = "2 of 8 selected · Space toggle · Enter run · Esc cancel"
        assert box.border_subtitle == hint and len(hint) < box.size.width
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and len(columns_of(app)) == 2)
        assert [column.column.title for column in columns_of(app)] == ["current settings", "greedy"]
        await until(pilot, lambda: all_ended(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("space", "down", "down", "space", "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and all_ended(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and len(columns_of(app)) == 2)
        assert [column.column.title for column in columns_of(app)] == ["greedy", "precise"]


async def test_s_gives_every_column_a_seed_of_its_own() -> None:
    async with workbench(tempered(), (120, 40)) as (app, pilot, loopback):
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press(*FOUR_PRESETS, "s", "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and all_ended(app))
        assert len({request.json["seed"] for request in loopback.requests}) == 4
        await until(pilot, lambda: "different seeds" in text_of(app, "remarks"))
        assert "separate seeds" in text_of(app, "about")


async def test_columns_stand_side_by_side_stacked_or_alone_by_width() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        assert len({column.region.y for column in columns_of(app)}) == 1
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: len({column.region.y for column in columns_of(app)}) == 4)
        assert len({column.region.x for column in columns_of(app)}) == 1
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: sum(column.display for column in columns_of(app)) == 1)
        assert "greedy" in text_of(app, "tabs") and "creative" in text_of(app, "tabs")
        await pilot.press("tab", "tab")
        assert [column.display for column in columns_of(app)] == [False, False, True, False]


@pytest.mark.parametrize("count", [2, 3])
async def test_few_columns_stand_side_by_side_and_end_with_the_divergence_in_view(count: int) -> None:
    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        word = f" word{received.json['temperature']}"
        writer.write(head() + answer(" went", " in", word, *[" and on\n"] * 100, "."))
        await writer.drain()

    async with workbench(handle, (100, 40)) as (app, pilot, _):
        columns = [
            Column(str(index), app.workspace.drafting.endpoint, "", Parameters().set("temperature", index))
            for index in range(count)
        ]
        runs = [job.run for job in plan([TextPrompt("Once")], columns, "group")]
        comparison = Comparison(app.workspace, columns, runs)
        await app.push_screen(CompareScreen(comparison))
        await until(pilot, lambda: not comparison.is_running and all(run.tokens == 104 for run in runs))
        assert len({column.region.y for column in columns_of(app)}) == 1
        assert len({column.region.x for column in columns_of(app)}) == count

        def words_in_view() -> bool:
            strips = app.screen._compositor.render_strips(app.screen.size)
            shown = "".join(strip.text for strip in strips[: columns_of(app)[0].view.region.bottom])
            return all(f" word{index}" in shown for index in range(count))

        await until(pilot, words_in_view)


async def test_titles_show_only_what_differs() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        titles = titles_of(app)
        assert titles[0] == "greedy · temperature 0"
        assert titles[2] == "balanced · temperature 0.7 · top_p 0.95"
        assert not any("max_tokens" in title or "unset" in title for title in titles)


async def test_the_shared_prefix_is_dimmed_and_the_first_difference_marked_in_every_column() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, partial(parts_shown, app))
        assert {column.view.sections[0].dim_before for column in columns_of(app)} == {2}
        for column, word in zip(columns_of(app), (".", "·slowly", "·and", "·dreams"), strict=True):
            shown = column.distribution.render().plain
            assert "diverges at token 3" in shown
            assert f"▸{word} " in shown
            assert "·other" in shown


async def test_figures_stand_under_each_answer() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, partial(parts_shown, app))
        figures = columns_of(app)[1].grid.render().plain
        for word in (
            "tokens       4",
            "perplexity   2.01",
            "mean logprob -0.700",
            "TTFT       ",
            "ended        end of text",
            "distinct-2 1.00",
        ):
            assert word in figures


async def test_more_columns_than_the_endpoint_takes_at_once_say_that_they_are_queued() -> None:
    async with workbench(stuck(), (200, 50)) as (app, pilot, _):
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        options = app.screen.query_one(OptionList)
        await pilot.press(*FOUR_PRESETS)
        options.highlighted = 0
        await pilot.press("space")
        options.highlighted = 5
        await pilot.press("space", "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await until(pilot, lambda: "4 running · 2 queued" in text_of(app, "about"))
        queued = [str(column.border_subtitle) for column in columns_of(app)][-2:]
        assert all("queued" in subtitle for subtitle in queued)


async def test_escape_stops_this_column_then_all_then_leaves_and_every_text_is_kept() -> None:
    async with workbench(stuck(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 1 for column in columns_of(app)))
        await pilot.press("tab", "escape")
        await until(pilot, lambda: columns_of(app)[1].run.outcome is Outcome.STOPPED)
        assert [column.run.is_running for column in columns_of(app)] == [True, False, True, True]
        await pilot.press("escape")
        await until(pilot, lambda: all_ended(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert [run.outcome for run in app.main.output.runs] == [Outcome.STOPPED] * 4
        assert len({run.group for run in app.main.output.runs}) == 1
        assert all(run.ordered[0].text == " went" for run in app.main.output.runs)


async def test_ctrl_c_stops_all_columns_and_never_quits() -> None:
    async with workbench(stuck(), (120, 40)) as (app, pilot, loopback):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 1 for column in columns_of(app)))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: all_ended(app))
        await asyncio.wait_for(asyncio.gather(*(request.gone.wait() for request in loopback.requests)), 2)
        assert app.is_running


async def test_adopting_takes_a_columns_parameters_to_the_panel_without_the_drawn_seed() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        await pilot.press("shift+tab", "a")
        await until(pilot, lambda: app.screen is app.main)
        expected: dict[str, ParameterValue] = {
            "max_tokens": 128,
            "logprobs": 5,
            "temperature": 1.2,
            "min_p": 0.05,
            "presence_penalty": 0.3,
        }
        assert app.main.parameters.parameters == Parameters(expected)
        assert app.workspace.drafting.draft.preset == "creative"
        (adopted,) = (toast for toast in toasts(app) if toast.startswith("Settings of creative adopted: "))
        assert "temperature unset → 1.2 · " in adopted and "presence_penalty unset → 0.3" in adopted
        assert adopted.endswith("; u undoes")


async def test_the_last_row_says_what_escape_and_enter_do_and_who_stays_in_the_session() -> None:
    async with workbench(stuck(), (80, 24)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 1 for column in columns_of(app)))
        await until(pilot, lambda: "Esc Stop " in keys_of(app))
        assert "Enter/a Adopt" in keys_of(app) and "^C Stop all" in keys_of(app)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Esc Close" in keys_of(app))
        assert "Stop" not in keys_of(app)
        assert "Enter/a Adopt" in keys_of(app) and "k Only this" in keys_of(app)


async def test_saving_names_the_session_and_what_is_typed_then_adopts_nothing() -> None:
    async with workbench(tempered(), (80, 24)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        before = app.main.parameters.parameters
        await pilot.press("ctrl+s", *"a talk".replace(" ", "_"), "enter")
        await until(pilot, lambda: app.workspace.keeper.title == "a_talk")
        assert isinstance(app.screen, CompareScreen)
        assert app.main.parameters.parameters == before


async def test_keeping_one_column_leaves_it_alone_on_the_screen_and_the_other_runs_in_the_session() -> None:
    async with workbench(stuck(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 1 for column in columns_of(app)))
        await pilot.press("tab", "tab", "k")
        await until(pilot, lambda: len(columns_of(app)) == 1 and len(app.main.output.runs) == 3)
        assert columns_of(app)[0].column.title == "balanced"
        assert columns_of(app)[0].run.is_running


async def test_the_same_text_for_all_is_said() -> None:
    async with workbench(answering(answer(" in", ".")), (80, 24)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        await until(pilot, lambda: "same text" in text_of(app, "remarks"))
        assert heading(app) == "identical"


async def test_answers_that_were_stopped_are_identical_as_far_as_they_go() -> None:
    async with workbench(stuck(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 1 for column in columns_of(app)))
        await until(pilot, lambda: heading(app) == "identical so far")
        await until(pilot, lambda: "Esc Stop" in keys_of(app))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Esc Close" in keys_of(app))
        await until(pilot, lambda: heading(app) == "identical for 1 token")


def keys_of(app: WorkbenchApp) -> str:
    """What the last row says."""
    return app.screen.query_one(KeyRow).render().plain


def heading(app: WorkbenchApp) -> str:
    """What stands over the first column's distribution."""
    return str(columns_of(app)[0].distribution.render()).split("\n")[0].strip()


async def test_one_answer_alone_has_nothing_to_be_identical_to() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        await pilot.press("k")
        await until(pilot, lambda: heading(app) == "Press ← or → to select a token")


async def test_what_the_endpoints_probe_found_ignored_is_said_where_it_differs() -> None:
    async with workbench(tempered(), (120, 40)) as (app, pilot, loopback):
        finding = Finding("min_p", ProbeVerdict.NO_EFFECT, "the same text")
        probe = Probe(loopback.base_url, "scripted", datetime(2026, 3, 1, tzinfo=UTC), 9, (finding,))
        save_probe(app.services.folders, probe)
        await open_comparison(app, pilot)
        await until(pilot, lambda: "ignores min_p" in text_of(app, "remarks"))


async def test_columns_scroll_together() -> None:
    long = head() + b"".join(logprob_event(f" word{number}") for number in range(900)) + DONE

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(long)
        await writer.drain()

    async with workbench(handle, (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        await until(pilot, lambda: all(column.view.max_scroll_y > 20 for column in columns_of(app)))
        columns_of(app)[0].view.scroll_to(y=7, animate=False, force=True)
        await until(pilot, lambda: {column.view.scroll_offset.y for column in columns_of(app)} == {7})
        await pilot.press("tab", "end")
        await until(pilot, lambda: columns_of(app)[3].view.scroll_offset.y > 7)


async def test_d_goes_to_the_first_difference_and_a_cursor_compares_any_token() -> None:
    async with workbench(tempered(), (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, partial(parts_shown, app))
        await pilot.press("d")
        await until(pilot, lambda: all((column.view.cursor or ("", 0))[1] == 2 for column in columns_of(app)))
        await pilot.press("left")
        await until(pilot, lambda: "token 2" in columns_of(app)[3].distribution.render().plain)
        assert "▸·in" in columns_of(app)[3].distribution.render().plain


async def test_one_preset_is_compared_with_itself_at_another_model() -> None:
    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.path.endswith("/models"):
            body = b'{"object": "list", "data": [{"id": "large"}]}'
            writer.write(head(200, "application/json", len(body)) + body)
        else:
            writer.write(head() + answer(f" {received.json.get('model', 'own')}"))
        await writer.drain()

    async with workbench(handle, (200, 50)) as (app, pilot, _):
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        options = app.screen.query_one(OptionList)
        await pilot.press("space")
        options.highlighted = 1
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(app.screen, EndpointsScreen))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 2)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and all_ended(app))
        texts = [column.choice.text for column in columns_of(app) if column.choice is not None]
        assert texts == [" own", " large"]
        assert titles_of(app)[1].startswith("greedy · large @ ")


@pytest.mark.parametrize("size", SIZES)
async def test_the_cost_is_among_the_figures_where_the_endpoint_has_prices(size: tuple[int, int]) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 2000, "total_tokens": 3000}
    usage_event = f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode()
    body = logprob_event(" in", finish_reason="stop") + usage_event + DONE

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + body)
        await writer.drain()

    async with workbench(handle, size) as (app, pilot, _):
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(prices=Prices(2, 4)))
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        grid = screen_of(app).current.grid
        await until(pilot, lambda: "cost 0.010000" in " ".join(grid.render().plain.split()))
        assert len(grid.render().plain.splitlines()) <= grid.size.height


@pytest.mark.parametrize(("size", "least"), [((120, 40), (118, 9)), ((160, 40), (24, 37))])
async def test_eight_columns_have_enough_room_each_and_the_screen_scrolls(
    size: tuple[int, int], least: tuple[int, int]
) -> None:
    async with workbench(tempered(), size) as (app, pilot, _):
        endpoint = app.workspace.drafting.endpoint
        columns = [Column(str(index), endpoint, "", Parameters()) for index in range(8)]
        runs = [job.run for job in plan([TextPrompt("Once")], columns, "group")]
        for run in runs:
            run.outcome = Outcome.STOPPED
        comparison = Comparison(app.workspace, columns, runs)
        await app.push_screen(CompareScreen(comparison))
        await until(pilot, lambda: {column.region.size for column in columns_of(app)} == {least})
        await pilot.press("shift+tab")
        await until(pilot, lambda: app.screen.region.contains_region(columns_of(app)[7].view.region))


async def test_a_digit_branches_from_a_column_under_its_parameters_and_the_others_are_kept() -> None:
    branched = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if str(received.json["prompt"]).endswith(" went other"):
            branched.set()
            writer.write(head() + answer(" again", "."))
            await writer.drain()
            return
        writer.write(head() + logprob_event(" went") + logprob_event(" in"))
        await writer.drain()
        await received.gone.wait()

    async with workbench(handle, (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 2 for column in columns_of(app)))
        parent = columns_of(app)[3].run
        await pilot.press("shift+tab", "end")
        await until(pilot, lambda: screen_of(app).current.distribution.render().plain.startswith("token 2"))
        assert "2 ·other" in screen_of(app).current.distribution.render().plain
        await pilot.press("2")
        await until(pilot, lambda: app.screen is app.main and branched.is_set())
        await until(pilot, lambda: len(app.main.output.runs) == 5 and not app.workspace.runs.is_streaming)
        *compared, branch = app.main.output.runs
        assert {run.outcome for run in compared} == {Outcome.STOPPED}
        assert (branch.ordered[0].text, branch.outcome) == (" again.", Outcome.COMPLETE)
        assert branch.parent is not None
        assert (branch.parent.run, branch.parent.token, branch.parent.alternative) == (parent.id, 1, " other")
        assert branch.request.parameters.get("temperature") == 1.2
        assert app.main.parameters.parameters.get("temperature") == 1.2


async def test_a_column_that_fails_says_why_and_the_others_go_on() -> None:
    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.json["temperature"] == 0.7:
            writer.write(
                head(404, "application/json") + b'{"error":{"message":"no [b]such\\u001b[31m model"}}'
            )
        else:
            writer.write(head() + answer(" in", "."))
        await writer.drain()

    async with workbench(handle, (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all_ended(app))
        outcomes = [column.run.outcome for column in columns_of(app)]
        assert outcomes == [Outcome.COMPLETE, Outcome.COMPLETE, Outcome.ERROR, Outcome.COMPLETE]
        await until(pilot, lambda: "no [b]such" in columns_of(app)[2].view.sections[0].figures)
        assert "\x1b" not in columns_of(app)[2].view.sections[0].figures


async def test_columns_stand_in_their_order_in_transcript_and_file_though_the_first_ends_last() -> None:
    others_are_over = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.json["temperature"] == 0:
            await others_are_over.wait()
        writer.write(head() + answer(" in", "."))
        await writer.drain()

    async with workbench(handle, (200, 50)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: len(app.workspace.session.runs) == 3)
        others_are_over.set()
        await until(pilot, lambda: all_ended(app))
        order = [column.run.id for column in columns_of(app)]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert [run.id for run in app.main.output.runs] == order
        assert await app.workspace.keeper.settle()
        assert app.workspace.keeper.path is not None
        stored = tomllib.loads(app.workspace.keeper.path.read_text())["runs"]
        assert [run["id"] for run in stored] == order


async def test_what_streams_in_every_column_survives_a_kill(tmp_path: Path) -> None:
    async with workbench(stuck(), (120, 40)) as (app, pilot, _):
        await open_comparison(app, pilot)
        await until(pilot, lambda: all(column.run.tokens == 1 for column in columns_of(app)))
        app.workspace.keeper.tick()
        await app.workspace.keeper.settle()
        assert app.workspace.keeper.path is not None
        # What a kill at this moment would leave behind.
        left = shutil.copytree(app.workspace.keeper.path.parent, tmp_path / "left")
        opened = SessionStore.open(left / app.workspace.keeper.path.name)
        opened.store.close()
        assert [run.ordered[0].text for run in opened.session.runs] == [" went"] * 4
        assert [run.preset for run in opened.session.runs] == [
            column.column.preset for column in columns_of(app)
        ]


async def test_the_main_screen_is_drawn_under_a_popup_but_not_where_it_is_covered_whole() -> None:
    async with workbench(tempered(), (120, 40)) as (app, pilot, _):
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        assert app.main.is_current
        await pilot.press(*FOUR_PRESETS, "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and all_ended(app))
        assert not app.main.is_current
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main and app.main.is_current)


def test_rows_that_do_not_fit_join_the_rest_so_that_all_is_still_all() -> None:
    rows = [
        AlternativeRow("a", 0.4, 0),
        AlternativeRow("b", 0.2, 1),
        AlternativeRow("c", 0.1, 2),
        AlternativeRow("d", 0.05, is_chosen=True),
        remaining_row(0.25),
    ]
    kept = trimmed(rows, 3)
    assert [row.label for row in kept] == ["a", "d", "(other)"]
    assert sum(row.mass or 0 for row in kept) == pytest.approx(1)
    assert [row.is_remaining for row in kept] == [False, False, True]
    named = [
        AlternativeRow(label, 0.25, position) for position, label in enumerate(("(other)", "b", "(other)"))
    ]
    assert trimmed(named, 2) == [named[0], remaining_row(0.5)]
    assert trimmed(rows, 5) == rows
