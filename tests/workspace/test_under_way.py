"""Comparisons, grids and re-runs without a screen: what is sent, stopped, kept and said of it."""

from __future__ import annotations

import asyncio
import shutil
import tomllib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.client.loopback import Handler, Received, answering, hanging, head, in_turn
from tests.tui.scripted import answer, logprob_event
from tests.workspace.test_keeper import until
from tests.workspace.test_workspace import opened, sent
from workbench.domain.endpoint import Endpoint
from workbench.domain.measures import Measure
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.runner.compare_plan import Column, plan
from workbench.storage.session_store import SessionStore
from workbench.workspace.comparison import Comparison
from workbench.workspace.grid import Grid, Layout
from workbench.workspace.notifications import Notification, RunsChanged
from workbench.workspace.rerun import Rerun
from workbench.workspace.workspace import Workspace


async def test_titles_hold_nothing_that_a_terminal_obeys_whatever_a_file_names() -> None:
    obeyed = "\x1b\x9b\u202e"
    hostile = f"{obeyed}[31m"
    async with opened(answering(answer("a"))) as (workspace, _):
        columns = [
            Column(hostile, Endpoint(hostile, "http://x"), hostile, Parameters({"stop": (hostile, stop)}))
            for stop in ("a", "b")
        ]
        columns[1] = replace(columns[1], model="m")
        runs = [
            Run(Request(TextPrompt("x"), column.model, column.parameters), column.endpoint.name)
            for column in columns
        ]
        for title in Comparison(workspace, columns, runs).titles:
            assert not set(obeyed) & set(title)


class Model:
    """Answers each temperature once it is let; streams a first token at once."""

    def __init__(self, count: int) -> None:
        self.let = [asyncio.Event() for _ in range(count)]

    async def __call__(self, received: Received, writer: asyncio.StreamWriter) -> None:
        temperature = received.json["temperature"]
        assert isinstance(temperature, int)
        writer.write(head() + logprob_event(" went"))
        await writer.drain()
        await self.let[temperature].wait()
        writer.write(answer(f" word{temperature}", "."))
        await writer.drain()


def columns_at(workspace: Workspace, temperatures: Sequence[int]) -> list[Column]:
    """A column for each temperature."""
    return [
        Column(f"t{heat}", workspace.drafting.endpoint, "", Parameters({"temperature": heat, "logprobs": 2}))
        for heat in temperatures
    ]


@asynccontextmanager
async def comparing(
    handler: Handler, count: int
) -> AsyncGenerator[tuple[Workspace, Comparison, list[Notification]]]:
    """A comparison under way of so many temperatures."""
    async with opened(handler) as (workspace, received):
        columns = columns_at(workspace, range(count))
        runs = [job.run for job in plan([TextPrompt("Once")], columns, "group")]
        comparison = Comparison(workspace, columns, runs)
        comparison.start()
        yield workspace, comparison, received
        await comparison.aclose()


def has_runs(workspace: Workspace, count: int) -> bool:
    """Whether the session keeps so many runs."""
    return len(workspace.session.runs) == count


def titles(workspace: Workspace) -> list[int]:
    """Which column each run of the session is of, in its order."""
    return [int(run.request.body()["temperature"]) for run in workspace.session.runs]  # type: ignore[arg-type]


def stored(path: Path | None) -> list[int]:
    """Which column each run of the file is of, in its order."""
    assert path is not None
    return [run["request"]["temperature"] for run in tomllib.loads(path.read_text()).get("runs", [])]


async def all_written(workspace: Workspace) -> None:
    """Wait until nothing is to be written any more."""
    assert await workspace.keeper.settle()


# --- the order of columns --------------------------------------------------------------------------------


async def test_a_column_is_kept_as_soon_as_it_ends_and_in_the_end_all_are_in_the_columns_order() -> None:
    model = Model(3)
    async with comparing(model, 3) as (workspace, comparison, received):
        for ended, column in enumerate((2, 0, 1), 1):
            model.let[column].set()
            await until(partial(has_runs, workspace, ended))
            await all_written(workspace)
            assert sorted(stored(workspace.keeper.path)) == sorted(titles(workspace))
        await until(lambda: not comparison.is_running)
        await all_written(workspace)
        assert titles(workspace) == stored(workspace.keeper.path) == [0, 1, 2]
        assert [run.id for run in workspace.runs] == [run.id for run in comparison.runs]
        assert isinstance(received[-1], RunsChanged)


async def test_what_was_there_before_and_after_a_comparison_keeps_its_place() -> None:
    model = Model(2)
    async with comparing(model, 2) as (workspace, comparison, _):
        await until(lambda: all(run.tokens for run in comparison.runs))
        model.let[1].set()
        await until(lambda: len(workspace.session.runs) == 1)
        model.let[0].set()
        await until(lambda: not comparison.is_running)
        again = Comparison(workspace, *_again(workspace))
        again.start()
        await until(lambda: not again.is_running)
        await all_written(workspace)
        assert stored(workspace.keeper.path) == [0, 1, 0, 1]
        assert [run.id for run in workspace.runs] == [run.id for run in (*comparison.runs, *again.runs)]


def _again(workspace: Workspace) -> tuple[list[Column], list[Run]]:
    columns = columns_at(workspace, range(2))
    return columns, [job.run for job in plan([TextPrompt("Once")], columns, "later")]


async def test_columns_that_a_kill_cuts_are_recovered_in_their_order(tmp_path: Path) -> None:
    async with comparing(Model(4), 4) as (workspace, comparison, _):
        await until(lambda: all(run.tokens for run in comparison.runs))
        workspace.keeper.tick()
        await all_written(workspace)
        assert workspace.keeper.path is not None
        left = shutil.copytree(workspace.keeper.path.parent, tmp_path / "left")
        found = SessionStore.open(left / workspace.keeper.path.name)
        found.store.close()
        assert [run.request.parameters.get("temperature") for run in found.session.runs] == [0, 1, 2, 3]
        assert [run.ordered[0].text for run in found.session.runs] == [" went"] * 4


async def test_columns_that_are_stopped_together_are_kept_in_their_order() -> None:
    async with comparing(Model(3), 3) as (workspace, comparison, _):
        await until(lambda: all(run.tokens for run in comparison.runs))
        comparison.stop_column(2)
        await until(lambda: len(workspace.session.runs) == 1)
        await comparison.aclose()
        assert [run.outcome for run in workspace.session.runs] == [Outcome.STOPPED] * 3
        assert titles(workspace) == [0, 1, 2]


# --- what is said of a comparison -------------------------------------------------------------------------


async def test_states_and_titles_say_what_the_columns_do_and_how_they_differ() -> None:
    model = Model(2)
    async with comparing(model, 2) as (_, comparison, _):
        assert comparison.titles == ("t0 · temperature 0", "t1 · temperature 1")
        await until(lambda: all(run.tokens for run in comparison.runs))
        assert comparison.summary == "2 running"
        assert comparison.agreement() == (1, None) and comparison.agreed == "identical so far"
        model.let[0].set()
        await until(lambda: not comparison.runs[0].is_running)
        assert comparison.summary == "1 running · 1 done"
        assert str(comparison.state(0)) == "● done" and comparison.state(1).glyph == "▶"
        model.let[1].set()
        await until(lambda: not comparison.is_running)
        shared, divergence = comparison.agreement()
        assert shared == 1 and divergence is not None
        assert [token and token.text for token in divergence.tokens] == [" word0", " word1"]


async def test_keeping_one_column_stops_the_others_whose_runs_stay_in_the_session() -> None:
    model = Model(2)
    async with comparing(model, 2) as (workspace, comparison, _):
        await until(lambda: all(run.tokens for run in comparison.runs))
        comparison.keep(1)
        model.let[1].set()
        await until(lambda: not comparison.is_running)
        assert [run.outcome for run in workspace.session.runs] == [Outcome.STOPPED, Outcome.COMPLETE]
        assert [column.title for column in comparison.columns] == ["t1"]


# --- grids ------------------------------------------------------------------------------------------------


async def test_a_grid_keeps_what_was_sent_in_the_cells_order_and_sends_the_rest_when_asked() -> None:
    model = Model(3)
    async with opened(model) as (workspace, _):
        columns = columns_at(workspace, range(3))
        runs = [job.run for job in plan([TextPrompt("Once")], columns, "group")]
        layout = Layout("Sweep", "Once", "temperature", ("0", "1", "2"), ("every value",))
        grid = Grid(workspace, layout, columns, runs)
        assert "3 requests" in grid.cost
        grid.start()
        await until(lambda: all(run.tokens for run in runs))
        model.let[1].set()
        await until(lambda: len(workspace.session.runs) == 1)
        model.let[0].set()
        await until(lambda: len(workspace.session.runs) == 2)
        assert grid.summary == "1 running · 2 of 3 answered"
        assert grid.mean(0, 0, Measure.PERPLEXITY) is not None
        assert grid.mean(2, 0, Measure.PERPLEXITY) is None
        grid.stop()
        await until(lambda: not grid.is_running)
        assert titles(workspace) == [0, 1, 2]
        model.let[2].set()
        grid.send_left()
        await until(lambda: not grid.is_running)
        assert grid.summary == "3 of 3 answered" and not grid.left
        assert titles(workspace) == [0, 1, 2, 2]


async def test_a_cell_that_is_stopped_before_its_turn_came_is_not_kept() -> None:
    async with opened(Model(9)) as (workspace, _):
        columns = columns_at(workspace, range(9))
        runs = [job.run for job in plan([TextPrompt("Once")], columns, "group")]
        layout = Layout("Sweep", "Once", "temperature", tuple(map(str, range(9))), ("every value",))
        grid = Grid(workspace, layout, columns, runs)
        grid.start()
        sent_at_once = workspace.drafting.endpoint.concurrency
        await until(lambda: sum(bool(run.tokens) for run in runs) == sent_at_once)
        await grid.aclose()
        assert titles(workspace) == list(range(sent_at_once))
        assert len(grid.left) == 9


# --- runs sent again --------------------------------------------------------------------------------------


async def test_a_run_that_answers_the_same_again_is_identical_and_kept_as_its_repetition() -> None:
    async with opened(answering(answer(" in", "."))) as (workspace, _):
        run = await sent(workspace)
        again = Rerun(workspace, workspace.drafting.endpoint, run)
        assert again.check is None and again.summary == "identical so far 0/2"
        again.start()
        await until(lambda: not again.is_running)
        assert again.summary == "● identical 2/2" and again.titles == ("recorded", "again")
        assert [kept.parent and kept.parent.kind for kept in workspace.session.runs] == [None, "rerun"]


async def test_a_run_that_answers_otherwise_says_where_and_what_may_explain_it() -> None:
    other = answer(" in", "!").replace(b"scripted", b"changed")
    async with opened(in_turn(answering(answer(" in", ".")), answering(other))) as (workspace, _):
        again = Rerun(workspace, workspace.drafting.endpoint, await sent(workspace))
        again.start()
        await until(lambda: not again.is_running)
        assert again.summary == "≠ diverges at token 2"
        assert any("'.' recorded, '!' again" in remark for remark in again.remarks)
        assert "it has no seed, so the answer may differ" in again.remarks
        assert "answered by scripted, then by changed" in again.remarks


async def test_a_run_stopped_before_its_first_token_has_nothing_to_compare() -> None:
    async with opened(in_turn(answering(answer(" in", ".")), hanging(head()))) as (workspace, _):
        again = Rerun(workspace, workspace.drafting.endpoint, await sent(workspace))
        again.start()
        await again.aclose()
        assert again.summary == "■ nothing to compare"
