"""What is open and what is done to it, without a screen."""

from __future__ import annotations

import os
import tomllib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.client.loopback import Handler, answering, hanging, head, in_turn, serving
from tests.domain.builders import choice_of, run_of
from tests.tui.scripted import answer, logprob_event
from tests.workspace.test_keeper import until
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.domain.prompt import PromptKind, TextPrompt, TextsPrompt
from workbench.domain.run import Outcome, Run
from workbench.runner.branching import branch_from, end_of
from workbench.workspace.notifications import (
    Notice,
    Notification,
    RunBegan,
    RunEnded,
    RunsChanged,
    RunSelected,
    SessionChanged,
    SessionNamed,
    SettingsChanged,
    TextReplaced,
)
from workbench.workspace.runs import SelectedToken
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace


@asynccontextmanager
async def opened(handler: Handler | None = None) -> AsyncGenerator[tuple[Workspace, list[Notification]]]:
    """A workspace at a scripted endpoint, and what it tells."""
    async with serving(handler or answering(answer(" in", " the"))) as loopback:
        services = Services.open(dict(os.environ), loopback.base_url)
        workspace, received = Workspace(services), list[Notification]()
        workspace.subscribe(received.append)
        workspace.begin()
        yield workspace, received
        await workspace.aclose()
        await services.connections.aclose()


async def sent(workspace: Workspace) -> Run:
    """A run of the draft that is over."""
    run = workspace.send(workspace.request)
    await until(lambda: workspace.session.run(run.id) is not None)
    return run


def messages(received: list[Notification]) -> list[str]:
    """What was told in words."""
    return [notice.message for notice in received if isinstance(notice, Notice)]


async def test_every_change_of_the_draft_is_undone_and_redone_in_order() -> None:
    async with opened() as (workspace, received):
        drafting = workspace.drafting
        states = [drafting.draft]
        changes: list[Callable[[], None]] = [
            lambda: drafting.set_text("Once"),
            lambda: drafting.parameters_typed(drafting.parameters.set("temperature", 0.5)),
            lambda: drafting.use_model("large"),
            lambda: drafting.apply_preset(Preset("own", Parameters({"top_p": 0.5}))),
            lambda: drafting.set_kind(PromptKind.TEXTS),
            lambda: drafting.set_prompt(TextPrompt("upon")),
            lambda: drafting.use(drafting.draft._replace(model="", prompt="a time"), "both"),
        ]
        for change in changes:
            change()
            states.append(drafting.draft)
        assert len(workspace.history) == len(states) - 1
        for state in reversed(states[:-1]):
            workspace.undo()
            assert drafting.draft == state
        assert messages(received)[-1] == "Undone: the prompt"
        for state in states[1:]:
            workspace.redo()
            assert drafting.draft == state
        assert messages(received)[-1] == "Redone: both"
        workspace.redo()
        assert messages(received)[-1] == "Nothing to redo."


async def test_only_what_is_not_shown_yet_is_told() -> None:
    async with opened() as (workspace, received):
        end = len(workspace.drafting.text)
        received.clear()
        workspace.drafting.typed((0, end), (0, end), "!")
        assert received == []
        workspace.undo()
        assert [type(change) for change in received] == [TextReplaced, Notice]
        received.clear()
        workspace.drafting.use_model("large")
        assert received == [SettingsChanged()]


async def test_variables_fill_the_prompt_and_are_undone() -> None:
    async with opened() as (workspace, _):
        workspace.drafting.set_prompt(TextsPrompt(("{{who}}", "b")))
        workspace.set_variables({"who": "She"})
        assert workspace.prompt == TextsPrompt(("She", "b"))
        workspace.undo()
        assert workspace.prompt == TextsPrompt(("{{who}}", "b"))


async def test_a_run_is_sent_kept_named_removed_and_brought_back_where_it_was() -> None:
    async with opened() as (workspace, received):
        first, second = await sent(workspace), await sent(workspace)
        assert [change for change in received if isinstance(change, RunBegan | RunEnded)] == [
            RunBegan(first),
            RunEnded(first),
            RunBegan(second),
            RunEnded(second),
        ]
        workspace.runs.name(first, "the first")
        workspace.runs.remove([first], "the run")
        assert list(workspace.runs) == [second]
        workspace.undo()
        assert list(workspace.runs) == [first, second]
        workspace.undo()
        assert first.name == ""
        workspace.redo()
        assert await workspace.keeper.settle()
        assert workspace.keeper.path is not None
        stored = tomllib.loads(workspace.keeper.path.read_text())["runs"]
        assert [(run["id"], run.get("name", "")) for run in stored] == [
            (first.id, "the first"),
            (second.id, ""),
        ]


async def test_a_branch_is_undone_with_the_prompt_it_joined_and_its_origin_is_told() -> None:
    async with opened() as (workspace, received):
        run = await sent(workspace)
        before = workspace.drafting.text
        branch = branch_from(end_of(run, run.ordered[0]))
        again = workspace.send(workspace.request, branch)
        workspace.note_branch(again, "the branch", branch.prompt)
        assert workspace.drafting.text == f"{before} in the"
        workspace.undo()
        assert workspace.drafting.text == before
        assert list(workspace.runs) == [run]
        shown = [change for change in received if isinstance(change, RunsChanged | RunSelected)]
        assert shown == [RunsChanged(), RunSelected(run, run.choices[0], 2)]
        await until(lambda: not again.is_running)
        workspace.redo()
        assert list(workspace.runs) == [run, again]
        assert await workspace.keeper.settle()
        assert [kept.id for kept in workspace.session.runs] == [run.id, again.id]


async def test_what_is_being_typed_in_the_panel_is_sent_and_undone_until_something_replaces_it() -> None:
    async with opened() as (workspace, _):
        drafting, before = workspace.drafting, workspace.drafting.parameters
        drafting.note_typed(before.set("temperature", 0.5))
        assert workspace.request.parameters.get("temperature") == 0.5
        assert drafting.parameters == before
        workspace.tick()
        assert await workspace.keeper.settle()
        assert workspace.session.draft.parameters.get("temperature") == 0.5
        workspace.undo()
        assert drafting.parameters == before == workspace.request.parameters
        drafting.note_typed(BadValueError("0.x is not a number"))
        with pytest.raises(BadValueError, match=r"0\.x"):
            _ = workspace.request
        workspace.tick()
        drafting.apply_preset(Preset("own", Parameters({"top_p": 0.5})))
        assert workspace.request.parameters.get("top_p") == 0.5


async def test_the_answer_is_the_one_with_the_selected_token_else_the_newest() -> None:
    async with opened() as (workspace, _):
        assert workspace.runs.answer is None
        first, second = await sent(workspace), await sent(workspace)
        assert workspace.runs.answer == (second, second.choices[0])
        workspace.runs.selected = SelectedToken(first, first.choices[0], 1)
        assert workspace.runs.answer == (first, first.choices[0])
        workspace.begin_session()
        assert workspace.runs.answer is None


async def test_a_session_is_saved_under_a_name_with_what_is_typed() -> None:
    async with opened() as (workspace, received):
        workspace.drafting.set_text("Once")
        assert await workspace.save_as("lighthouse")
        assert SessionNamed() in received
        assert workspace.keeper.path is not None
        stored = tomllib.loads(workspace.keeper.path.read_text())
        assert (stored["title"], stored["draft"]["prompt"]) == ("lighthouse", "Once")


async def test_what_streams_cannot_be_removed() -> None:
    async with opened() as (workspace, _):
        run = workspace.send(workspace.request)
        with pytest.raises(BadValueError, match="still streaming"):
            workspace.runs.remove([run], "the run")
        workspace.runs.stop()
        await until(lambda: run.outcome is Outcome.STOPPED)


async def test_what_streams_stays_the_last_run_whatever_comes_back_or_is_added_meanwhile() -> None:
    handler = in_turn(answering(answer(" in")), hanging(head() + logprob_event(" went")))
    async with opened(handler) as (workspace, _):
        first = await sent(workspace)
        workspace.runs.remove([first], "the deletion")
        streaming = workspace.send(workspace.request)
        await until(lambda: streaming.tokens == 1)
        workspace.undo()
        assert list(workspace.runs) == [first, streaming]
        other = run_of(choice_of([" other"]))
        workspace.runs.keep_compared(other)
        assert list(workspace.runs) == [first, other, streaming]
        workspace.runs.stop()
        await until(lambda: workspace.session.run(streaming.id) is not None)
        assert workspace.session.runs == list(workspace.runs)
        await workspace.keeper.settle()
        path = workspace.keeper.path
    assert path is not None
    with path.open("rb") as file:
        ids = [run["id"] for run in tomllib.load(file)["runs"]]
    assert ids == [first.id, other.id, streaming.id]


async def test_another_session_takes_draft_runs_and_history_and_comes_back() -> None:
    async with opened() as (workspace, _):
        await sent(workspace)
        workspace.drafting.set_text("of the first")
        await workspace.keeper.settle()
        path = workspace.keeper.path
        workspace.begin_session()
        assert (list(workspace.runs), workspace.drafting.text, len(workspace.history)) == ([], "", 0)
        workspace.drafting.set_text("of the second")
        assert path is not None
        await workspace.open(path)
        assert workspace.drafting.text == "of the first"
        assert len(workspace.runs) == 1
        await workspace.open(path)
        workspace.undo()
        assert workspace.drafting.text == "of the first"
    (other,) = {*path.parent.glob("*.toml")} - {path}
    assert tomllib.loads(other.read_text())["draft"]["prompt"] == "of the second"


async def test_a_file_that_is_no_session_keeps_the_draft_and_is_told_with_its_text(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("= broken")
    async with opened() as (workspace, received):
        draft = workspace.drafting.draft
        await workspace.open(broken)
        assert workspace.drafting.draft == draft
        assert [(change.text, change.line) for change in received if isinstance(change, SessionChanged)] == [
            ("= broken", 1)
        ]
        run = run_of(choice_of([" a"]))
        run.outcome = Outcome.COMPLETE
        with pytest.raises(BadValueError, match="read-only"):
            workspace.runs.remove([run], "the run")
    assert broken.read_text() == "= broken"
