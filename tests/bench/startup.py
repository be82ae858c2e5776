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
from tests.bench.figure import Figure, median

_ROOT = Path(__file__).resolve().parents[2]
_RUNS = 7
_BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("first paint")
Bare().run()
"""


def seconds_to_word(argv: Sequence[str], word: bytes, home: Path) -> float:
    """Seconds from starting a program in a terminal of 120x40 until a word is on the screen."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    world = {
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "WORKBENCH_HOME": str(home / "workbench"),
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
        return time.perf_counter() - started
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
    with tempfile.TemporaryDirectory() as home:
        for turn in range(_RUNS + 1):
            for name, (argv, word) in programs.items():
                taken = seconds_to_word(argv, word, Path(home) / name.replace(" ", "-"))
                if turn:
                    times[name].append(taken * 1e3)
    ours, bare, other = (median(times[name]) for name in programs)
    size = folder_size(lean.parent.parent) / 1e6
    return [
        Figure(
            "first paint",
            ours,
            "ms",
            "≤ 1.5× bare Textual, ≤ 0.5× posting",
            ours <= 1.5 * bare and ours <= 0.5 * other,
            {"bare Textual": bare, "posting": other},
        ),
        Figure("lean install with compiled files", size, "MB", "≤ 60 MB", size <= 60),
    ]
