"""A conversation of 2,000 turns: key to screen while the next one is typed, and how long it takes to open."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.figure import OWN_WORK, Figure, percentile
from tests.bench.terminal import KEYS, Terminal, server
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.conversation import Chat, Turn, Turns
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Session
from workbench.storage.session_store import SessionStore

_TURNS = 2_000
_ANSWER = 40
"""Tokens of each answer."""
_PAUSE = 0.05
_F12, _EXACT_PROMPT = "\x1b[24~", "\x05"


def conversation(path: Path, turns: int) -> None:
    """Write a session with a conversation of so many turns, every answer a run with alternatives."""
    session = Session(title="long talk", chat=Chat(template="chatml"))
    talk = Turns()
    for number in range(turns // 2):
        run = Run(Request(TextPrompt(f"question {number}")), "bench", outcome=Outcome.COMPLETE, total=1.0)
        for index in range(_ANSWER):
            others = [Alternative(f" word{index + other}", -0.3 - other) for other in range(5)]
            run.choice(0).append(ReceivedToken(others[0].text, others[0].logprob, others), index / 80)
        question = Turn("user", f"This is question {number}: what comes next?", parent=talk.last)
        talk = talk.with_turn(question)
        talk = talk.with_turn(Turn("assistant", run.choice(0).text, run=run.id, parent=question.id))
        session.runs.append(run)
    session.chat = Chat(talk, template="chatml")
    store = SessionStore.create(path, session)
    store.save()
    store.close()


_Typed = tuple[list[float], list[float]]
"""Milliseconds from key to screen: all, and the program's own work."""


def _measure(folder: Path, turns: int) -> tuple[tuple[float, float], _Typed, _Typed]:
    """Seconds of the opening, all and own work; keys alone, and with the exact prompt shown."""
    path = folder / f"talk-{turns}.toml"
    conversation(path, turns)
    with server(1, 1) as url:
        terminal = Terminal(url, folder, str(path))
        try:
            terminal.read_until("temperature")
            terminal.read_until("long talk")
            terminal.count(2)
            worked = terminal.cpu_seconds
            terminal.press(_F12)
            opened = terminal.read_until("Message"), terminal.cpu_seconds - worked
            terminal.count(2)
            alone = terminal.typed(KEYS, _PAUSE)
            terminal.press(_EXACT_PROMPT)
            terminal.read_until("exact prompt")
            terminal.count(2)
            return opened, alone, terminal.typed(KEYS[::-1], _PAUSE)
        finally:
            terminal.close()


def figures() -> list[Figure]:
    """Key to screen with 2,000 turns above, alone and with the exact prompt shown, and the opening.

    Each beside the same with two turns: what those take as well, the machine takes and not the turns.
    """
    with tempfile.TemporaryDirectory() as folder:
        opened, *typed = _measure(Path(folder), _TURNS)
        opened_few, *typed_few = _measure(Path(folder), 2)
    beside = {OWN_WORK: opened[1] * 1e3, "2 turns": opened_few[0] * 1e3}
    rows = [Figure("chat: opening 2,000 turns", opened[0] * 1e3, "ms", "≤ 1,000 ms", opened[0] <= 1, beside)]
    for label, (taken, own), (few, _) in zip(("", ", exact prompt shown"), typed, typed_few, strict=True):
        for name, share, goal in (("p50", 0.5, 25), ("p99", 0.99, 50)):
            value = percentile(taken, share)
            beside = {OWN_WORK: percentile(own, share), "2 turns": percentile(few, share)}
            title = f"chat: key to screen under 2,000 turns{label}, {name}"
            rows.append(Figure(title, value, "ms", f"≤ {goal} ms", value <= goal, beside))
    return rows
