"""The branch tree: walked, named, pruned and undone; and the choices of a run beside each other."""

from __future__ import annotations

import json
import tomllib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from tests.client.loopback import DONE, answering, hanging, head
from tests.domain.builders import choice_of, run_of, token_of
from tests.tui.scripted import answer, until, use_parameters, workbench
from workbench.domain.prompt import TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Parent, Run
from workbench.tui.app import WorkbenchApp
from workbench.tui.branches.branch_tree import TreeScreen, branch_line, rows_of_tree
from workbench.tui.branches.choices_screen import ChoicesScreen
from workbench.tui.popups.question import LinePopup
from workbench.tui.tokens.run_sections import shown_prompt


def _run(name: str, parent: str = "", token: int = 1, **choice: float) -> Run:
    run = run_of(choice_of([token_of(f" {name}", 0.5), token_of(" on", 0.5)]), prompt="Once")
    run.id = name
    run.parent = Parent(parent, 0, token, " x") if parent else None
    return run


# --- rows --------------------------------------------------------------------------------------------


def test_rows_hang_on_lines_that_end_with_the_last_branch() -> None:
    runs = [_run("a"), _run("b", "a"), _run("c", "b"), _run("d", "a"), _run("e")]
    rows = rows_of_tree(runs)
    assert [(row.guides, row.number) for row in rows] == [
        ("", 1),
        ("├─", 2),
        ("│ └─", 3),
        ("└─", 4),
        ("", 5),
    ]


def test_a_row_says_where_its_run_parts_and_what_came_of_it() -> None:
    runs = [_run("a"), _run("b", "a", 1)]
    line = branch_line(rows_of_tree(runs)[1], 100).plain
    assert line.startswith("└─2  a·x b on")
    assert line.split()[-5:] == ["2", "2", "-0.693", "●", "done"]
    assert len(line) == 100


def test_no_row_is_wider_than_the_screen_however_deep_or_hostile_it_is() -> None:
    runs = [_run("0")]
    for depth in range(1, 60):
        runs.append(_run(str(depth), str(depth - 1)))
        runs[-1].name = "\x1b[31m" + "名" * 30
    for row in rows_of_tree(runs):
        line = branch_line(row, 77)
        assert line.cell_length == 77
        assert "\x1b" not in line.plain


def test_a_prompt_of_token_ids_shows_the_text_it_goes_on_from_and_a_circle_its_ids() -> None:
    runs = [_run("a"), _run("b", "a", 1)]
    runs[1].request = Request(TokensPrompt((1, 2)))
    assert shown_prompt(runs, runs[1], runs[1].choices[0]) == "Once a x"
    runs[0].request, runs[0].parent = runs[1].request, Parent("b", 0, 1)
    assert shown_prompt(runs, runs[1], runs[1].choices[0]) == "1, 2"


# --- the screen --------------------------------------------------------------------------------------


@asynccontextmanager
async def branched(size: tuple[int, int] = (80, 24)) -> AsyncGenerator[tuple[WorkbenchApp, Pilot[int]]]:
    """The workbench with a run, a branch at its second token, and a branch of that."""
    async with workbench(answering(answer(" a", " b", " c")), size) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await ended(app, pilot, 1)
        await pilot.press("f4", "home", "right", "2")
        await ended(app, pilot, 2)
        await pilot.press("end", "3")
        await ended(app, pilot, 3)
        yield app, pilot


async def ended(app: WorkbenchApp, pilot: Pilot[int], count: int) -> None:
    """Wait until so many runs are there and over."""
    runs = app.main.output
    await until(pilot, lambda: len(runs.runs) == count and not any(run.is_running for run in runs.runs))


async def tree(app: WorkbenchApp, pilot: Pilot[int]) -> TreeScreen:
    """Open the tree."""
    await pilot.press("t")
    await until(pilot, lambda: isinstance(app.screen, TreeScreen) and bool(app.screen.rows))
    assert isinstance(app.screen, TreeScreen)
    return app.screen


def stored(app: WorkbenchApp) -> list[dict[str, object]]:
    """The runs in the session's file."""
    path = app.workspace.keeper.path
    found: list[dict[str, object]] = tomllib.loads(Path(path or "").read_text()).get("runs", [])
    return found


async def saved(app: WorkbenchApp, pilot: Pilot[int], *names: str) -> None:
    """Wait until the file has runs of these names, and no others."""
    await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
    assert [run.get("name", "") for run in stored(app)] == list(names)


async def test_the_tree_is_walked_and_enter_goes_to_the_run() -> None:
    async with branched() as (app, pilot):
        screen = await tree(app, pilot)
        assert [row.depth for row in screen.rows] == [0, 1, 2]
        assert screen.highlighted is screen.rows[1]
        await pilot.press("left")
        assert screen.highlighted is screen.rows[0]
        await pilot.press("right", "right")
        assert screen.highlighted is screen.rows[2]
        await pilot.press("up")
        assert "branched from run 1 at token 2 with ·other" in str(
            screen.query_one("#passage", Static).render()
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main and app.main.output.token is not None)
        found = app.main.output.token
        assert found is not None
        assert (found[0], found[2]) == (app.main.output.runs[1], 0)
        assert app.main.focused is app.main.output.view


async def test_a_run_that_streams_is_shown_as_it_grows_and_ends() -> None:
    whole = answer(" a", " b", " c")
    async with workbench(hanging(head() + whole[: whole.index(b"data: ", 9)])) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.main.output.runs[0].tokens > 0)
        await pilot.press("f4")
        screen = await tree(app, pilot)
        await until(pilot, lambda: "streaming" in shown(screen))
        app.workspace.runs.stop()
        await until(pilot, lambda: "stopped" in shown(screen))


def shown(screen: TreeScreen) -> str:
    """The first row."""
    return str(screen.listing.options.get_option_at_index(0).prompt)


async def test_a_name_is_kept_in_the_file_and_can_be_undone() -> None:
    async with branched() as (app, pilot):
        screen = await tree(app, pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        app.screen.query_one(Input).value = "the calm one"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await saved(app, pilot, "", "the calm one", "")
        assert "the calm one" in app.main.output.view.sections[1].title
        await pilot.press("u")
        await saved(app, pilot, "", "", "")


async def test_what_is_pruned_leaves_the_session_and_comes_back_whole() -> None:
    async with branched() as (app, pilot):
        screen = await tree(app, pilot)
        runs = list(app.main.output.runs)
        await pilot.press("d")
        assert [row.run for row in screen.rows] == runs[:1]
        await saved(app, pilot, "")
        await pilot.press("u")
        assert [row.run for row in screen.rows] == runs
        await saved(app, pilot, "", "", "")
        assert [run["id"] for run in stored(app)] == [run.id for run in runs]
        await pilot.press("U")
        await saved(app, pilot, "")
        await pilot.press("escape")
        assert app.main.output.runs == runs[:1]


async def test_runs_pruned_in_one_burst_of_keys_leave_the_row_above_shown() -> None:
    async with branched() as (app, pilot):
        screen = await tree(app, pilot)
        first = screen.rows[0].run
        await pilot.press("down")
        # As a terminal hands over keys that were typed at once: before what they changed was shown.
        for _ in range(3):
            screen.action_prune()
        await pilot.pause()
        assert not screen.rows
        screen.action_undo()
        await pilot.pause()
        assert [row.run for row in screen.rows] == [first]
        assert "independent run" in str(screen.query_one("#passage", Static).render())


async def test_a_run_that_is_added_while_the_tree_is_shown_gets_its_row() -> None:
    async with branched() as (app, pilot):
        screen = await tree(app, pilot)
        app.workspace.runs.add([_run("another window")])
        await until(pilot, lambda: len(screen.rows) == 4)


async def test_undo_takes_a_branch_back_and_goes_to_where_it_left() -> None:
    async with branched() as (app, pilot):
        runs = list(app.main.output.runs)
        await pilot.press("u")
        assert app.main.output.runs == runs[:2]
        await saved(app, pilot, "", "")
        assert app.main.output.token is not None
        assert app.main.output.token[0] is runs[1]
        await pilot.press("u", "U", "U")
        assert app.main.output.runs == runs
        await saved(app, pilot, "", "", "")


async def test_undo_of_continue_takes_the_answer_out_of_prompt_and_session() -> None:
    async with workbench(answering(answer(" a", " b"))) as (app, pilot, _):
        before = app.main.prompt.text
        await pilot.press("ctrl+j")
        await ended(app, pilot, 1)
        await pilot.press("f4", "enter")
        await ended(app, pilot, 2)
        assert app.main.prompt.text == f"{before} a b"
        await pilot.press("u")
        assert (app.main.prompt.text, len(app.main.output.runs)) == (before, 1)
        await pilot.press("U")
        assert (app.main.prompt.text, len(app.main.output.runs)) == (f"{before} a b", 2)


async def test_undo_stops_a_branch_that_streams_and_keeps_it_out_of_the_file() -> None:
    whole = answer(" a", " b", " c")
    async with workbench(hanging(head() + whole[: whole.index(b"data: ", 9)])) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.main.output.runs[0].tokens > 0)
        await pilot.press("escape")
        await ended(app, pilot, 1)
        await pilot.press("f4", "home", "2")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and app.main.output.runs[1].tokens > 0)
        branch = app.main.output.runs[1]
        await pilot.press("u")
        await until(pilot, lambda: branch.outcome is Outcome.STOPPED)
        await saved(app, pilot, "")
        await pilot.press("U")
        await saved(app, pilot, "", "")
        assert app.main.output.runs[1] is branch


# --- choices -----------------------------------------------------------------------------------------


def several(*texts: str) -> bytes:
    """A stream of choices of two tokens each."""
    events = []
    for index, text in enumerate(texts):
        for position, token in enumerate(text.split("|")):
            logprobs = {
                "tokens": [token],
                "token_logprobs": [-0.5 * (index + 1)],
                "top_logprobs": [{token: -0.5}],
            }
            reason = "stop" if position == text.count("|") else None
            choice = {"index": index, "text": token, "finish_reason": reason, "logprobs": logprobs}
            events.append(f"data: {json.dumps({'id': 'r', 'choices': [choice]})}\n\n".encode())
    return b"".join(events) + DONE


async def test_the_choices_of_a_run_are_a_list_and_enter_goes_to_one() -> None:
    async with workbench(answering(several(" a| b", " a| c", " a| b")), (80, 24)) as (app, pilot, _):
        use_parameters(app, app.main.parameters.parameters.set("n", 3))
        await pilot.press("ctrl+j")
        await ended(app, pilot, 1)
        await pilot.press("f4", "l")
        await until(pilot, lambda: isinstance(app.screen, ChoicesScreen))
        options = app.screen.query_one(OptionList)
        await until(pilot, lambda: options.option_count == 2)
        await until(pilot, lambda: options.render_line(0).text.startswith("▸"))
        rows = [options.render_line(index).text for index in range(2)]
        assert rows[0].startswith("▸★ 1   ×2   a┆ b")
        assert rows[1].startswith("   2        a┆ c")
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen is app.main and app.main.output.token is not None)
        assert app.main.output.token is not None
        assert app.main.output.token[1].index == 1


async def test_a_run_with_one_choice_says_how_to_get_more() -> None:
    async with branched() as (app, pilot):
        await pilot.press("l")
        await until(pilot, lambda: app.main.output.error.display)
        assert app.screen is app.main
