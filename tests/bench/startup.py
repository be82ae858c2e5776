"""Time to first paint, beside a bare Textual application and posting; the lean install's size."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.environments import environment, folder_size
from tests.bench.figure import OWN_WORK, Figure, cpu_seconds, median, paired
from workbench.cli.program import SCREEN_RATE

_ROOT = Path(__file__).resolve().parents[2]
_RUNS = 7
_BARE = """
import gc
gc.disable()
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("first paint")
    def on_ready(self):
        gc.freeze()
        gc.enable()
Bare().run()
"""
"""Under the settings of the workbench: the same frame rate, and no garbage looked for before the paint."""


def seconds_to_word(argv: Sequence[str], word: bytes, home: Path) -> tuple[float, float]:
    """Seconds from starting a program in a terminal of 120x40 until a word is on the screen: all, and own."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    world = {
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "WORKBENCH_HOME": str(home / "workbench"),
        SCREEN_RATE[0]: SCREEN_RATE[1],
    }
    started = time.perf_counter()
    process = subprocess.Popen(
        argv, stdin=child, stdout=child, stderr=child, env=world, start_new_session=True, close_fds=True
    )
    os.close(child)
    seen = b""
    try:
        while word not in seen:
            ready, _, _ = select.select([parent], [], [], 30)
            if not ready:
                raise RuntimeError(f"{argv[0]} did not show {word!r} within 30 s: {seen[-500:]!r}")
            seen = (seen + os.read(parent, 65536))[-200_000:]
        return time.perf_counter() - started, cpu_seconds(process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(parent)


def figures() -> list[Figure]:
    """First paint (medians, programs taking turns) and the lean install's size."""
    lean = environment("lean", str(_ROOT), anew="completion-workbench")
    posting = environment("posting", "posting", "tree-sitter==0.25.2")
    programs: dict[str, tuple[list[str], bytes]] = {
        "workbench": ([str(lean.parent / "workbench")], b"temperature"),
        "bare Textual": ([str(lean), "-c", _BARE], b"first paint"),
        "posting": ([str(posting.parent / "posting")], b"Collection"),
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    works: dict[str, list[float]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as home:
        for turn in range(_RUNS + 1):
            for name, (argv, word) in programs.items():
                taken, own = seconds_to_word(argv, word, Path(home) / name.replace(" ", "-"))
                if turn:
                    times[name].append(taken * 1e3)
                    works[name].append(own * 1e3)
    ours, bare, other = (times[name] for name in programs)
    to_bare, to_other = paired(ours, bare), paired(ours, other)
    work, bare_work, _ = (works[name] for name in programs)
    size = folder_size(lean.parent.parent) / 1e6
    return [
        Figure(
            "first paint",
            median(ours),
            "ms",
            "≤ 1.5× bare Textual, ≤ 0.5× posting, as paired ratios",
            to_bare <= 1.5 and to_other <= 0.5,
            {
                OWN_WORK: median(work),
                "bare Textual": median(bare),
                "its own work": median(bare_work),
                "posting": median(other),
                "paired ratio to bare": to_bare,
                "of own work": paired(work, bare_work),
                "to posting": to_other,
            },
        ),
        Figure("lean install with compiled files", size, "MB", "≤ 60 MB", size <= 60),
    ]
