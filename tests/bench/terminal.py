"""The program in a terminal of 120x40 while a completion streams: bytes it writes, and key to screen."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.figure import Figure, cpu_seconds, latency, median, percentile
from tests.client.loopback import Handler, Received, head, serving

_WORDS = (" the", " quick", " brown", " fox", " jumps", " over", ",", " a", " lazy", " dog", ".", " and")
KEYS = [chr(code) for code in range(0x100, 0x1F0) if chr(code).isalpha()][:200]
"""Letters that stand nowhere else on the screen, nor in what moves its cursor: only their key draws them."""
_TYPED = 60
_SHARED = 20
"""Tokens that all streams begin with."""
_ROOT = Path(__file__).parents[2]


def streaming(rate: float, seconds: float) -> Handler:
    """A handler that sends tokens with five alternatives at a rate, in steps of 10 ms.

    Every stream after the first differs from those before it from its twentieth token on, as answers do.
    """
    streams = itertools.count()

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        stream = next(streams)
        began = time.perf_counter()
        sent = 0
        while (passed := time.perf_counter() - began) < seconds:
            due = int(passed * rate)
            writer.write(b"".join(_event(number, stream) for number in range(sent, due)))
            sent = due
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()

    return handle


def _event(number: int, stream: int) -> bytes:
    index = number * 7 + (stream * 5 if number >= _SHARED else 0)
    word = _WORDS[index % len(_WORDS)]
    logprob = -((number + index) % 17) / 4
    top = {_WORDS[(index + other) % len(_WORDS)]: logprob - other for other in range(5)}
    logprobs = {"tokens": [word], "token_logprobs": [logprob], "top_logprobs": [top], "text_offset": [0]}
    return (
        b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "text": word, "logprobs": logprobs}]}).encode()
    )


def serve(rate: float, seconds: float) -> None:
    """Stream to whoever asks; prints the base URL first."""

    async def main() -> None:
        async with serving(streaming(rate, seconds)) as loopback:
            print(loopback.base_url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(main())


@contextmanager
def server(rate: float, seconds: float) -> Iterator[str]:
    """The base URL of such a server, in a process of its own."""
    script = f"from tests.bench.terminal import serve; serve({rate}, {seconds})"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=_ROOT, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


class Terminal:
    """The workbench in a pseudo-terminal."""

    def __init__(self, url: str, home: Path, *arguments: str) -> None:
        self._parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        world = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "WORKBENCH_HOME": str(home),
        }
        argv = [sys.executable, "-c", "from workbench.cli import main; main()", "--endpoint", url, *arguments]
        self._process = subprocess.Popen(
            argv, stdin=child, stdout=child, stderr=child, env=world, start_new_session=True
        )
        os.close(child)

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._parent, keys.encode())

    def read_until(self, word: str, seconds: float = 30) -> float:
        """Seconds until a word is written to the screen."""
        began = time.perf_counter()
        seen = b""
        while word.encode() not in seen:
            if not select.select([self._parent], [], [], seconds)[0]:
                raise RuntimeError(f"{word!r} did not come within {seconds} s")
            seen = seen[-100:] + os.read(self._parent, 1 << 16)
        return time.perf_counter() - began

    @property
    def cpu_seconds(self) -> float:
        """The processor time that the program has taken up to now."""
        return cpu_seconds(self._process.pid)

    def typed(self, keys: Sequence[str], pause: float) -> tuple[list[float], list[float]]:
        """Milliseconds from each key to its letter on the screen: all, and the program's own work.

        After a key comes `pause` seconds of silence, up to twice as many at random: a fixed pause would have
        all keys meet the program's frames at one phase.
        """
        wall, own = list[float](), list[float]()
        pauses = random.Random(3)
        for key in keys:
            worked = self.cpu_seconds
            self.press(key)
            wall.append(self.read_until(key) * 1e3)
            own.append((self.cpu_seconds - worked) * 1e3)
            self.count(pause * (1 + pauses.random()))
        return wall, own

    def count(self, seconds: float) -> int:
        """Bytes written to the screen in a time."""
        until, total = time.perf_counter() + seconds, 0
        while (left := until - time.perf_counter()) > 0:
            if select.select([self._parent], [], [], left)[0]:
                total += len(os.read(self._parent, 1 << 16))
        return total

    def close(self) -> None:
        """End the program by its process group."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._parent)


@contextmanager
def running(rate: float, seconds: float) -> Iterator[Terminal]:
    """The workbench, a second into a stream of some rate."""
    with tempfile.TemporaryDirectory() as home, server(rate, seconds) as url:
        terminal = Terminal(url, Path(home))
        try:
            terminal.read_until("temperature")
            terminal.press("\n")
            terminal.read_until("tok/s")
            terminal.count(1)
            yield terminal
        finally:
            terminal.close()


def megabytes_per_second(rate: float) -> float:
    """What the screen costs per second while a completion streams."""
    with running(rate, 10) as terminal:
        return terminal.count(4) / 4e6


def figures() -> list[Figure]:
    """Bytes per second at two rates, and key to screen under 2,000 tokens/s."""
    slow, fast = (median([megabytes_per_second(rate) for _ in range(3)]) for rate in (100, 2_000))
    with running(2_000, 30) as terminal:
        wall, own = terminal.typed(KEYS[:_TYPED], 0.1)
    name = "whole program: key to screen under 2,000 tokens/s"
    return [
        Figure("bytes to the terminal at 100 tokens/s", slow, "MB/s", "≤ 0.3 MB/s", slow <= 0.3),
        Figure("bytes to the terminal at 2,000 tokens/s", fast, "MB/s", "≤ 0.8 MB/s", fast <= 0.8),
        latency(f"{name}, p50", percentile(wall, 0.5), percentile(own, 0.5), 12),
        latency(f"{name}, p90", percentile(wall, 0.9), percentile(own, 0.9), 30),
    ]
