"""Flows that replay, re-run and compare an answer of a chat; apart, so that the chat opens without them."""

from __future__ import annotations

from functools import partial

from workbench.domain.run import Run
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.compare.flow import compare_request, rerun
from workbench.tui.flows import FlowContext
from workbench.tui.replay.screen import ReplayScreen


async def replay_answer(flow: FlowContext) -> None:
    """Replay the answer of the current turn offline, at its recorded pace."""
    screen = _chat_screen(flow)
    turn = screen.turns.turn
    run = _finished_run(screen)
    if turn is not None and run is not None:
        title = f"turn {screen.chat.path.index(turn) + 1}"
        await flow.ask(ReplayScreen(run, title, screen.turns.view.mode))


async def rerun_answer(flow: FlowContext) -> None:
    """Send the exact prompt of the current turn's answer again, and compare the two answers."""
    if (run := _finished_run(_chat_screen(flow))) is not None:
        await rerun(flow, run)


async def compare_answers(flow: FlowContext) -> None:
    """Answer at the current turn with several presets; each answer becomes a branch."""
    screen = _chat_screen(flow)
    turn = screen.turns.turn
    if turn is None or not screen.may_change():
        return
    made = await screen.prepared(partial(screen.chat.to_compare, turn))
    if made is not None:
        # The panel's parameters, so that adopting a column does not bring the template's stop into the panel.
        request = made.request._replace(parameters=screen.chat.draft.parameters)
        await compare_request(flow, request, made.stop, partial(screen.chat.take_answer, turn))


def _chat_screen(flow: FlowContext) -> ChatScreen:
    screen = flow.app.screen
    assert isinstance(screen, ChatScreen)
    return screen


def _finished_run(screen: ChatScreen) -> Run | None:
    """Return the run of the current turn; if it has none or still streams, show why nothing is done."""
    turn = screen.turns.turn
    run = screen.chat.run_of(turn) if turn is not None else None
    if run is None or run.is_running:
        screen.show_problem("Go to an answer: only a finished run can be replayed or re-run.")
        return None
    return run
