"""Session files: their size, and how long opening and appending take."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.figure import OWN_WORK, PAIRED, Figure, median, paired
from tests.bench.startup import seconds_to_word
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Session
from workbench.storage.json_lines import to_json_lines
from workbench.storage.session_store import SessionStore

_ROUNDS = 5
_PAINTS = 3
_LAST = "zzlast"
"""The last token, which tells that the session is on the screen."""


def run_of_tokens(count: int) -> Run:
    """A finished run of that many tokens with 5 alternatives each, of a vocabulary of 20,000 words."""
    chance = random.Random(count)
    words = [" " + "".join(chance.choices("etaoinshrdlu", k=chance.randint(1, 8))) for _ in range(20_000)]
    run = Run(Request(TextPrompt("Once")), "bench", outcome=Outcome.COMPLETE, total=count / 80)
    choice = run.choice(0)
    for index in range(count):
        others = [Alternative(chance.choice(words), -chance.random() * 10) for _ in range(5)]
        choice.append(ReceivedToken(others[0].text, others[0].logprob, others), index / 80)
    return run


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def figures() -> list[Figure]:
    """The figures of sessions of 1,000, 10,000 and 100,000 tokens."""
    rows: list[Figure] = []
    appends: list[float] = []
    for count in (1_000, 10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            rows += _measure(Path(folder) / "session.toml", count, appends)
    return rows


def _measure(path: Path, count: int, appends: list[float]) -> list[Figure]:
    run = run_of_tokens(count)
    run.choice(0).append(ReceivedToken(f" {_LAST}", -1.0), count / 80)
    store = SessionStore.create(path)
    store.finish(run)
    store.close()
    each = path.stat().st_size / count
    exported = to_json_lines(Session(runs=[run]))
    opens, loads = [], []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        opened = SessionStore.open(path)
        opens.append(time.perf_counter() - began)
        opened.store.close()
        loads.append(_seconds(lambda: json.loads(exported)))
    ratio = paired(opens, loads)
    program = "from workbench.cli import main; raise SystemExit(main())"
    argv = [sys.executable, "-c", program, str(path)]
    # The first one compiles the modules.
    paints = [seconds_to_word(argv, _LAST.encode(), path.parent) for _ in range(_PAINTS + 1)][1:]
    painted, worked = (median([pair[index] for pair in paints]) for index in (0, 1))
    store = SessionStore.open(path).store
    short = [run_of_tokens(100) for _ in range(_ROUNDS)]
    appends.append(median([_seconds(partial(store.finish, run)) for run in short]))
    store.close()
    name = f"session of {count:,} tokens"
    return [
        Figure(f"{name}: bytes a token", each, "B", "—", True),
        Figure(
            f"{name}: append a run of 100 tokens",
            appends[-1] * 1000,
            "ms",
            "independent of the size",
            appends[-1] <= 3 * appends[0],
        ),
        Figure(
            f"{name}: open",
            median(opens) * 1000,
            "ms",
            "≤ 2× json.loads",
            ratio <= 2,
            {"json.loads": median(loads) * 1000, PAIRED: ratio},
        ),
        Figure(
            f"{name}: from the start to its end on the screen",
            painted * 1000,
            "ms",
            "≤ 1,500 ms",
            painted <= 1.5,
            {OWN_WORK: worked * 1000},
        ),
    ]
