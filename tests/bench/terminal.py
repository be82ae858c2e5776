"""The program in a terminal of 120x40 while a completion streams: bytes it writes, and key to screen."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.figure import Figure, median, percentile
from tests.client.loopback import Handler, Received, head, serving

_WORDS = (" the", " quick", " brown", " fox", " jumps", " over", ",", " a", " lazy", " dog", ".", " and")
_KEYS = "ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜÀÈÌÒÙÂÊÎÔÛÃÑÕ"


def streaming(rate: float, seconds: float) -> Handler:
    """A handler that sends tokens with five alternatives at a rate, in steps of 10 ms."""

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        began = time.perf_counter()
        sent = 0
        while (passed := time.perf_counter() - began) < seconds:
            due = int(passed * rate)
            writer.write(b"".join(_event(number) for number in range(sent, due)))
            sent = due
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()

    return handle


def _event(number: int) -> bytes:
    word = _WORDS[number * 7 % len(_WORDS)]
    logprob = -(number % 17) / 4
    top = {_WORDS[(number + other) % len(_WORDS)]: logprob - other for other in range(5)}
    logprobs = {"tokens": [word], "token_logprobs": [logprob], "top_logprobs": [top], "text_offset": [0]}
    return (
        b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "text": word, "logprobs": logprobs}]}).encode()
    )


@contextmanager
def server(rate: float, seconds: float) -> Iterator[str]:
    """The base URL of such a server, in a thread of its own."""
    ready: threading.Event = threading.Event()
    url: list[str] = []
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with serving(streaming(rate, seconds)) as loopback:
            url.append(loopback.base_url)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield url[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


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


def key_latencies(rate: float) -> list[float]:
    """Milliseconds from a key typed into the prompt to its character on the screen."""
    with running(rate, 30) as terminal:
        taken: list[float] = []
        for key in _KEYS:
            terminal.press(key)
            taken.append(terminal.read_until(key) * 1e3)
            terminal.count(0.1)
        return taken


def figures() -> list[Figure]:
    """Bytes per second at two rates, and key to screen under 2,000 tokens/s."""
    slow, fast = (median([megabytes_per_second(rate) for _ in range(3)]) for rate in (100, 2_000))
    taken = key_latencies(2_000)
    half, most = percentile(taken, 0.5), percentile(taken, 0.9)
    return [
        Figure("bytes to the terminal at 100 tokens/s", slow, "MB/s", "≤ 0.3 MB/s", slow <= 0.3),
        Figure("bytes to the terminal at 2,000 tokens/s", fast, "MB/s", "≤ 0.8 MB/s", fast <= 0.8),
        Figure("whole program: key to screen under 2,000 tokens/s, p50", half, "ms", "≤ 12 ms", half <= 12),
        Figure("whole program: key to screen under 2,000 tokens/s, p90", most, "ms", "≤ 30 ms", most <= 30),
    ]
