"""On a real terminal: suspended and resumed in the middle of a stream, and closed in the middle of one."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.client.loopback import DONE, Received, head, serving
from tests.tui.scripted import logprob_event
from workbench.domain.run import Outcome
from workbench.storage.folders import Folders
from workbench.storage.session_store import OpenedSession, SessionStore

pytestmark = pytest.mark.slow


class Terminal:
    """A terminal of 100x30 with the workbench on it, that remembers what was written to it."""

    def __init__(self, controller: int, process: asyncio.subprocess.Process) -> None:
        self.written = b""
        self.process = process
        self._controller: int | None = controller
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(controller, self._read)

    def _read(self) -> None:
        try:
            self.written += os.read(self._controller or -1, 65536)
        except OSError:
            self.close()

    def type(self, keys: bytes) -> None:
        """Press keys."""
        assert self._controller is not None
        os.write(self._controller, keys)

    def close(self) -> None:
        """Close the terminal's window."""
        if self._controller is not None:
            self._loop.remove_reader(self._controller)
            os.close(self._controller)
            self._controller = None

    @property
    def is_stopped(self) -> bool:
        """Whether the process is suspended."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8")
        return stat.rpartition(")")[2].split()[0] == "T"


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; fails after thirty seconds."""
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


@asynccontextmanager
async def on_terminal(base_url: str) -> AsyncGenerator[Terminal]:
    """The workbench in a session of its own, with the terminal to control it."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import sys; from workbench.cli import main; sys.exit(main())"),
        *("--endpoint", base_url),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        start_new_session=True,
        preexec_fn=take_terminal,
    )
    os.close(terminal)
    shown = Terminal(controller, process)
    try:
        await until(lambda: b"lighthouse" in shown.written)
        yield shown
    finally:
        shown.close()
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Streaming:
    """Answers with `first`, and after `go` with the rest."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.is_sent = asyncio.Event()

    async def __call__(self, received: Received, writer: asyncio.StreamWriter) -> None:
        """Answer."""
        writer.write(head() + logprob_event(" walked"))
        await writer.drain()
        await self.go.wait()
        writer.write(logprob_event(" homewards", finish_reason="stop") + DONE)
        await writer.drain()
        self.is_sent.set()


def kept() -> OpenedSession:
    """The one session that was kept."""
    (path,) = (Folders.default(os.environ).data / "sessions").glob("*.toml")
    return SessionStore.open(path)


async def test_a_stream_goes_on_where_the_terminal_was_suspended() -> None:
    answer = Streaming()
    async with serving(answer) as loopback, on_terminal(loopback.base_url) as terminal:
        terminal.type(b"\n")
        await until(lambda: b"walked" in terminal.written)
        terminal.process.send_signal(signal.SIGTSTP)
        await until(lambda: terminal.is_stopped and b"\x1b[?1049l" in terminal.written)
        answer.go.set()
        await answer.is_sent.wait()
        before, terminal.written = terminal.written, b""
        assert b"homewards" not in before
        terminal.process.send_signal(signal.SIGCONT)
        await until(lambda: b"homewards" in terminal.written)
        assert b"\x1b[?1049h" in terminal.written
        await until(lambda: b"lighthouse" in terminal.written)
        terminal.process.send_signal(signal.SIGSTOP)
        await until(lambda: terminal.is_stopped)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.type(b" then")
        await until(lambda: b"then" in terminal.written)
        terminal.type(b"\x11")
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
    session = kept().session
    (run,) = session.runs
    assert (run.ordered[0].text, run.outcome) == (" walked homewards", Outcome.COMPLETE)
    assert session.draft.prompt == "The lighthouse keeper opened the door and then"


async def test_a_closed_terminal_keeps_what_was_typed_and_what_came() -> None:
    async with serving(Streaming()) as loopback, on_terminal(loopback.base_url) as terminal:
        terminal.type(b" then\n")
        await until(lambda: b"walked" in terminal.written)
        terminal.close()
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0, "it ended by itself"
        await asyncio.wait_for(loopback.requests[0].gone.wait(), 5)
    session = kept().session
    assert session.draft.prompt == "The lighthouse keeper opened the door and then"
    (run,) = session.runs
    assert (run.ordered[0].text, run.outcome) == (" walked", Outcome.STOPPED)
