"""Flows: cancelled at every screen that they show, and fed with keys that come in one burst."""

from __future__ import annotations

import asyncio
import threading
import tomllib
from collections.abc import AsyncGenerator, Awaitable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from tests.client.loopback import DONE, answering
from tests.tui.scripted import answer, logprob_event, until, use_parameters, workbench
from tests.tui.test_wiring import configure, toasts
from workbench.domain.run import Outcome, Run
from workbench.storage.session_store import OpenedSession, SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import BY_ID, COMMANDS
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.flows import FlowContext, load_flow
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import Form, LinePopup
from workbench.tui.sessions.flow import open_session
from workbench.workspace.first_draft import EXAMPLE

STEPS: Mapping[str, tuple[str, ...]] = {
    "run": ("n",),
    "run_again": ("n",),
    "continue_answer": ("n",),
    "help": ("escape",),
    "palette": ("escape",),
    "jump": ("escape",),
    "save": ("escape",),
    "save_compared": ("escape",),
    "save_rerun": ("escape",),
    "sessions": ("escape",),
    "new": (),
    "choose_endpoint": ("escape",),
    "choose_model": ("escape",),
    "choose_theme": ("escape",),
    "choose_kind": ("escape",),
    "choose_preset": ("escape",),
    "save_preset": ("g r e e d y enter", "n"),
    "compare": ("enter", "y", "escape"),
    "compare_runs": ("enter", "escape"),
    "rerun": ("y", "escape"),
    "score": ("escape",),
    "score_by_tokens": ("escape",),
    "score_elsewhere": ("escape",),
    "replay": ("escape",),
    "sweep": ("enter", "n"),
    "prompt_set": ("escape",),
    "branch_ids": (),
    "branch_tree": ("escape",),
    "choices": ("escape",),
    "run_list": ("escape",),
    "chat": ("escape",),
    "variables": ("escape",),
    "export": ("enter", "escape"),
    "paste_curl": ("escape",),
    "probe": ("escape",),
    "wire": ("escape",),
    "copy_as_curl": (),
    "copy_as_python": (),
    "copy_curl": (),
    "copy_python": (),
    "open_config": (),
    "about": ("escape",),
    "surprise_threshold": ("escape",),
    "coverage_threshold": ("escape",),
    "copy_error": (),
    "undo": (),
    "redo": (),
    "edit_prompt": (),
    "delete_run": (),
    "template": ("escape",),
    "system": ("escape",),
    "prefill": ("escape",),
    "when_full": ("escape",),
    "chat_variables": ("escape",),
    "turns_replay": ("escape",),
    "turns_rerun": ("y", "escape"),
    "compare_answers": ("enter", "y", "escape"),
}
"""What each flow is told at one screen after another, by command."""

WHOLE: Mapping[str, tuple[str, ...]] = {
    "run": ("y",),
    "run_again": ("y",),
    "continue_answer": ("y",),
    "jump": ("b",),
    "save": ("n a m e enter",),
    "choose_endpoint": ("enter",),
    "choose_model": ("x enter",),
    "choose_kind": ("down enter",),
    "choose_preset": ("down enter",),
    "save_preset": ("m i n e enter",),
    "score": ("enter", "y"),
    "score_elsewhere": ("enter", "enter", "y"),
    "sweep": ("enter", "y", "escape"),
    "variables": ("enter",),
    "export": ("enter", "enter", "y"),
    "surprise_threshold": ("enter",),
    "coverage_threshold": ("enter",),
}
"""What those are told that end otherwise than by a no, so that they come to all they wait for."""

TAKES_RUNS = {"delete_run", "new", "undo"}
"""Those that take runs out of the session, or begin another one."""
CHANGES_TEXT = {"continue_answer", "new", "redo", "undo"}
"""Those that change the prompt's text."""

TWO = logprob_event(" in", finish_reason="stop")
TWO += TWO.replace(b'"index": 0', b'"index": 1') + DONE
"""A stream of two choices."""
_FLOWS = [command.id for command in COMMANDS if command.flow]


def test_the_steps_of_every_flow_are_known() -> None:
    assert sorted(STEPS) == sorted(_FLOWS)


@pytest.mark.parametrize("id", [id for id in _FLOWS if STEPS[id]])
async def test_a_flow_cancelled_at_any_of_its_screens_leaves_nothing_behind(id: str) -> None:
    async with _workbench_at(_where(id)) as (app, pilot):
        below = list(app.screen_stack)
        for steps in range(len(STEPS[id])):
            await _begin_anew(app, pilot, _where(id))
            before, runs = app.workspace.drafting.draft, len(app.main.output.runs)
            worker = app.flows.start(BY_ID[id].flow)
            for keys in STEPS[id][:steps]:
                shown = await _shown(app, pilot, below)
                await pilot.press(*keys.split())
                await until(pilot, lambda shown=shown: app.screen is not shown)  # type: ignore[misc]
            await _shown(app, pilot, below)
            worker.cancel()
            await until(pilot, lambda: not app.flows.is_opening() and app.screen_stack == below)
            assert not app.workspace.runs.is_streaming
            assert app.workspace.drafting.draft == before
            assert len(app.main.output.runs) >= runs
            assert toasts(app) == []


class CancelledAt:
    """Runs a flow, and cancels it as it begins to wait for the nth time, counted from 0."""

    def __init__(self, story: Awaitable[None], number: int) -> None:
        self._story = story
        self._number = number
        self.is_cancelled = False

    def __await__(self) -> Generator[Any, None, None]:
        waits = self._story.__await__()
        go_on = partial(next, waits)
        for number in count():
            try:
                awaited = go_on()
            except StopIteration:
                return
            if number == self._number:
                task = asyncio.current_task()
                assert task is not None
                self.is_cancelled = task.cancel()
            try:
                yield awaited
            except asyncio.CancelledError as error:
                go_on = partial(waits.throw, error)
            else:
                go_on = partial(next, waits)


@pytest.mark.parametrize("id", _FLOWS)
async def test_a_flow_cancelled_wherever_it_waits_leaves_everything_usable(
    id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with _workbench_at(_where(id)) as (app, pilot):
        below, workspace = list(app.screen_stack), app.workspace
        under_way = list(workspace.runs.under_way)

        def is_over() -> bool:
            is_back = app.screen_stack == below and not app.flows.is_opening()
            return is_back and not workspace.runs.is_streaming and workspace.runs.under_way == under_way

        is_cancelled, number = True, 0
        while is_cancelled:
            await _begin_anew(app, pilot, _where(id))
            text, kept = workspace.drafting.text, {run.id for run in workspace.session.runs}
            try:
                is_cancelled = await _cancelled_at(app, pilot, id, number)
                await until(pilot, is_over)
            except AssertionError as error:
                error.add_note(f"Cancelled where it waits for the {number}th time: {app.screen_stack}")
                raise
            assert workspace.drafting.text == text or id in CHANGES_TEXT
            assert kept <= {run.id for run in workspace.session.runs} or id in TAKES_RUNS
            assert (await _sent(app, pilot)).outcome is Outcome.COMPLETE
            assert await workspace.keeper.settle()
            number += 1


async def _cancelled_at(app: WorkbenchApp, pilot: Pilot[int], id: str, number: int) -> bool:
    """Run a flow with its answers, and cancel it where it waits for the nth time; False where it does not."""
    story = load_flow(BY_ID[id].flow)
    cancelled = list[CancelledAt]()

    def cancelling(flow: FlowContext) -> CancelledAt:
        cancelled.append(CancelledAt(story(flow), number))
        return cancelled[0]

    shown: Screen[Any] = app.screen
    worker = app.flows.run(cancelling)
    for keys in WHOLE.get(id, STEPS[id]):
        await until(pilot, lambda last=shown: worker.is_finished or _is_ready(app.screen, last))  # type: ignore[misc]
        shown = app.screen
        while not worker.is_finished and app.screen is shown:
            # Where something streams the first Esc stops it.
            await pilot.press(*keys.split())
            await pilot.pause()
            if keys != "escape":
                break
    await until(pilot, lambda: worker.is_finished)
    return cancelled[0].is_cancelled


def _is_ready(screen: Screen[Any], last: Screen[Any]) -> bool:
    """Whether another screen than the last one is there, and has its keys."""
    return screen is not last and screen.is_mounted and (screen.focused is not None or not screen.focus_chain)


@asynccontextmanager
async def _workbench_at(where: Where) -> AsyncGenerator[tuple[WorkbenchApp, Pilot[int]]]:
    """The workbench, on the chat screen where the flows belong there."""
    configure("confirm_above = 1\n")
    async with workbench(answering(TWO)) as (app, pilot, _):
        if where is Where.TURNS:
            await _talk(app, pilot)
        yield app, pilot


def _where(id: str) -> Where:
    """The screen from which a flow is begun."""
    return Where.TURNS if BY_ID[id].where in (Where.CHAT, Where.TURNS) else Where.OUTPUT


async def _begin_anew(app: WorkbenchApp, pilot: Pilot[int], where: Where) -> None:
    """Have two runs of two choices in another session; the conversation stays as it is."""
    app.clear_notifications()
    if where is Where.TURNS:
        return
    app.workspace.begin_session()
    app.workspace.drafting.use_endpoint(app.services.endpoint)
    app.workspace.drafting.set_text(EXAMPLE)
    use_parameters(app, app.workspace.drafting.parameters.set("n", 2))
    for _ in range(2):
        await _sent(app, pilot)


async def _sent(app: WorkbenchApp, pilot: Pilot[int]) -> Run:
    """A run of the draft that is over."""
    run = app.workspace.send(app.workspace.request)
    await until(pilot, lambda: app.workspace.session.run(run.id) is not None)
    return run


async def _talk(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Have the chat screen open, with an answer in the conversation."""
    keeper = app.workspace.keeper
    keeper.keep_chat(keeper.session.chat._replace(template="chatml"))
    await pilot.press("f12")
    chat = await _shown(app, pilot, [app.main])
    await pilot.press(*"Hi", "f5")
    await _shown(app, pilot, [app.main, chat])
    await pilot.press("y")
    await until(pilot, lambda: app.screen is chat and not app.workspace.runs.is_streaming)
    assert len(app.main.output.runs) == 1


async def _shown(app: WorkbenchApp, pilot: Pilot[int], below: Sequence[Screen[Any]]) -> Screen[Any]:
    """The screen on top of others, once it is there."""
    await until(pilot, lambda: app.screen not in below)
    return app.screen


async def test_what_lies_on_top_of_a_cancelled_flow_s_screen_goes_with_it() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        lower = app.flows.start(BY_ID["save"].flow)
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        app.flows.start(BY_ID["choose_kind"].flow)
        await until(pilot, lambda: isinstance(app.screen, Picker))
        lower.cancel()
        await until(pilot, lambda: app.screen_stack == [app.main])


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_what_a_flow_waits_for_unseen_is_stopped_like_a_stream(key: str) -> None:
    async with workbench(answering(TWO)) as (app, pilot, _):
        waits = asyncio.Event()

        async def wait(flow: FlowContext) -> None:
            await waits.wait()

        worker = app.flows.run(wait)
        await until(pilot, lambda: worker.is_running)
        await pilot.press(key)
        await until(pilot, lambda: worker.is_cancelled and not app.flows.is_opening())


async def test_a_session_whose_opening_is_stopped_is_opened_whole_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with workbench(answering(TWO)) as (app, pilot, _):
        await _sent(app, pilot)
        assert await app.workspace.keeper.settle()
        first, go, opened = app.workspace.keeper.path, threading.Event(), SessionStore.open
        assert first is not None
        app.workspace.begin_session()

        def open_late(path: Path, *, create: bool = False) -> OpenedSession:
            assert go.wait(60)
            return opened(path, create=create)

        monkeypatch.setattr(SessionStore, "open", open_late)
        worker = app.flows.run(lambda flow: open_session(flow, first))
        await until(pilot, lambda: worker.is_running)
        await pilot.press("escape")
        await until(pilot, lambda: worker.is_cancelled)
        go.set()
        await app.workspace.open(first)
        assert (app.workspace.keeper.path, len(app.workspace.runs)) == (first, 1)
        # As its lock is this window's again, so is its draft.
        app.workspace.drafting.set_text("typed afterwards")
        app.workspace.tick()
        assert await app.workspace.keeper.settle()
    with first.open("rb") as file:
        assert tomllib.load(file)["draft"]["prompt"] == "typed afterwards"


async def test_a_screen_that_is_left_while_its_widgets_are_made_closes_then() -> None:
    async with workbench(answering(TWO)) as (app, pilot, _):
        for turns in range(12):
            app.flows.changed.clear()
            worker = app.flows.start(BY_ID["sessions"].flow)
            await app.flows.changed.wait()
            for _ in range(turns):
                await asyncio.sleep(0)
            app.screen.dismiss(None)
            await until(pilot, lambda worker=worker: worker.is_finished and app.screen is app.main)  # type: ignore[misc]
        await pilot.press("z")
        assert app.main.prompt.text == f"{EXAMPLE}z"


async def test_a_second_answer_closes_no_other_screen() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        first, second = LinePopup("first", "a"), LinePopup("second", "b")
        await app.push_screen(first)
        await app.push_screen(second)
        first.dismiss("one")
        assert app.screen is second
        second.dismiss("two")
        second.dismiss("two again")
        await until(pilot, lambda: app.screen is first)


async def test_a_flow_cancelled_before_it_begins_is_never_called() -> None:
    called: list[FlowContext] = []

    def story(flow: FlowContext) -> Awaitable[None]:
        called.append(flow)
        return asyncio.sleep(0)

    async with workbench(answering(answer(" x"))) as (app, pilot, _):
        app.flows.run(story).cancel()
        await pilot.pause()
        assert called == []
        await app.flows.run(story).wait()
        assert len(called) == 1


async def test_a_fault_in_a_flow_is_shown_and_ends_only_that_flow() -> None:
    async def fail(flow: FlowContext) -> None:
        raise RuntimeError("a defect [of] the program")

    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        app.flows.run(fail)
        await until(pilot, lambda: app.main.output.error.display)
        assert "RuntimeError: a defect [of] the program" in app.main.output.error.text
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(loopback.requests) == 1)
        await pilot.press("ctrl+o")
        await _shown(app, pilot, [app.main])
        app.flows.run(fail)
        await until(pilot, lambda: any("RuntimeError" in toast for toast in toasts(app)))
        assert len(app.screen_stack) == 2


# --- keys in a burst ---------------------------------------------------------------------------------------


def burst(app: WorkbenchApp, keys: str) -> None:
    """Press keys as a terminal sends them in one piece; `"words"` are typed."""
    for key in keys.split():
        for character in key[1:-1] if key[0] == '"' else [key]:
            app.post_message(events.Key(character, character if len(character) == 1 else None))


async def test_rows_of_a_comparison_are_chosen_in_a_burst() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        burst(app, "f8 space down down down down space enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and len(loopback.requests) == 2)
        temperatures = sorted(str(request.json["temperature"]) for request in loopback.requests)
        assert temperatures == ["0", "1.2"]


async def test_a_jump_and_a_number_in_a_burst_change_that_field_alone() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        burst(app, "ctrl+g")
        await until(pilot, lambda: app.screen is not app.main)
        targets = app.screen._targets.items()  # type: ignore[attr-defined]
        letter = next(letter for letter, (name, _) in targets if name == "max_tokens")
        await pilot.press("escape")
        burst(app, f'ctrl+g {letter} "400" enter')
        await until(pilot, lambda: app.main.parameters.parameters.get("max_tokens") == 400)
        assert app.main.prompt.text == EXAMPLE


async def test_the_fields_of_a_form_are_filled_in_a_burst() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        burst(app, 'ctrl+p "sweep" enter tab "top_p=0.5,1" tab backspace "2"')
        await until(pilot, lambda: isinstance(app.screen, Form))
        await until(
            pilot, lambda: [entry.value for entry in app.screen.query(Input)][1:] == ["top_p=0.5,1", "2"]
        )
        assert app.main.prompt.text == EXAMPLE


OPENED: Mapping[str, str] = {
    "choose_kind": 'ctrl+p "kind" enter down up',
    "prompt_set": 'ctrl+p "prompt" space "set" enter "x" tab "y"',
    "save_preset": 'ctrl+p "save" space "preset" enter "x" left backspace',
    "about": 'ctrl+p "about" enter down up',
    "help": "f1 down pagedown",
    "palette": 'ctrl+p "theme" down up',
    "jump": "ctrl+g",
    "save": 'ctrl+s "name"',
    "sessions": 'ctrl+o "light" down up f1 escape',
    "choose_endpoint": 'ctrl+t "lo" down up f1 escape',
    "choose_preset": 'ctrl+l "gre" down up ctrl+x y',
    "compare": "f8 down space space plus escape",
    "sweep": 'ctrl+p "sweep" enter "x" tab "y"',
    "variables": 'ctrl+p "variables" enter "x" tab "y"',
    "probe": 'ctrl+p "probe" enter down up f1 escape',
    "choose_theme": 'ctrl+p "theme" enter down up',
    "branch_tree": "f4 t n escape left right space b f1 escape",
    "choices": "f4 l down up space b f1 escape",
    "replay": "f4 p space s plus minus 0 c w y f1 escape",
    "wire": "f4 e down up y c p tab f1 escape",
    "export": 'f4 ctrl+p "export" enter "mark"',
    "compare_runs": "f4 v down space space",
    "endpoint_form": 'ctrl+t ctrl+n "box" tab up down shift+tab escape',
    "choose_model": 'ctrl+p "model" enter "x" down up',
    "paste_curl": 'ctrl+p "paste" enter "x" left',
    "rerun": "f4 r tab d y f1 escape",
    "compared": "f8 enter tab shift+tab d y f1 escape",
    "swept": 'ctrl+p "sweep" enter enter y m down up f1 escape',
    "inspector": "f4 home i down up pageup pagedown y escape",
    "output": "f4 home right left right_square_bracket left_square_bracket full_stop comma j k c w escape",
    "find": 'f4 slash "in" enter n N b escape',
    "parameters": "f3 down up enter escape",
    "chat": 'f12 "hi" f3 escape f6 escape f7 escape ctrl+t escape f4 j k f e escape f2',
}
"""The keys of each screen, after those that open it."""


SENDS = {"rerun", "compared", "swept"}
"""Those of which the keys send requests."""


@pytest.mark.parametrize("id", OPENED)
async def test_no_key_of_a_burst_goes_astray(id: str) -> None:
    async with workbench(answering(TWO)) as (app, pilot, _):
        use_parameters(app, app.main.parameters.parameters.set("n", 2))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        before = app.main.parameters.parameters
        burst(app, f'{OPENED[id]} escape escape f2 "z"')
        await until(pilot, lambda: app.main.prompt.text.endswith("z"))
        assert app.main.prompt.text == f"{EXAMPLE}z"
        assert app.screen is app.main
        assert app.main.parameters.parameters == before
        assert (len(app.main.output.runs) > 1) == (id in SENDS)


async def test_keys_are_not_held_back_for_long_by_a_flow_that_shows_nothing() -> None:
    going = asyncio.Event()

    async def wait(flow: FlowContext) -> None:
        await going.wait()

    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        app.flows.run(wait)
        burst(app, '"abc"')
        await until(pilot, lambda: app.main.prompt.text == f"{EXAMPLE}abc")
        going.set()
