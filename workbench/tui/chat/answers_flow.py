"""Flows for the answer of a turn: replay, re-run, compare. The chat opens without importing them."""

from __future__ import annotations

from functools import partial

from workbench.domain.run import Run
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.compare.flow import compare_request, rerun
from workbench.tui.flows import FlowContext
from workbench.tui.replay.screen import ReplayScreen


async def replay_answer(flow: FlowContext) -> None:
    """Play the answer of a turn again, offline, at its recorded pace."""
    screen = _open(flow)
    if (run := _run_of_turn(screen)) is not None:
        numbers = [number for number, turn in enumerate(screen.chat.path, 1) if turn is screen.turns.turn]
        view = screen.turns.view
        await flow.ask(ReplayScreen(run, number=numbers[0], mode=view.mode))


async def rerun_answer(flow: FlowContext) -> None:
    """Send the exact prompt of an answer again and compare."""
    if (run := _run_of_turn(_open(flow))) is not None:
        await rerun(flow, run)


async def compare_answers(flow: FlowContext) -> None:
    """Let several presets answer at a turn's place; each answer becomes a branch."""
    screen = _open(flow)
    turn = screen.turns.turn
    if turn is None or not screen.may_change():
        return
    made = await screen.prepared(partial(screen.chat.to_compare, turn))
    if made is not None:
        # The panel's parameters, so that adopting a column does not bring the template's stop into the panel.
        request = made.request._replace(parameters=screen.chat.draft.parameters)
        await compare_request(flow, request, made.stop, partial(screen.chat.take_answer, turn))


def _open(flow: FlowContext) -> ChatScreen:
    screen = flow.app.screen
    assert isinstance(screen, ChatScreen)
    return screen


def _run_of_turn(screen: ChatScreen) -> Run | None:
    """The run of the turn that keys work on; says so where there is none that has ended."""
    turn = screen.turns.turn
    run = screen.chat.run_of(turn) if turn is not None else None
    if run is None or run.is_running:
        screen.show_problem("Go to an answer: only a finished run can be replayed or re-run.")
        return None
    return run
