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
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.client.loopback import DONE, Received, answering, head, serving
from tests.tui.scripted import answer, logprob_event
from workbench.domain.run import Outcome
from workbench.storage.files import Folders
from workbench.storage.session_store import OpenedSession, SessionStore

pytestmark = pytest.mark.slow


class Terminal:
    """A terminal of 100x30 with the workbench on it, that remembers what was written to it."""

    def __init__(self, controller: int, process: asyncio.subprocess.Process) -> None:
        self.written = b""
        self.process = process
        self.controller = controller
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


_PYTHON = (sys.executable, "-c", "import sys; from workbench.cli import main; sys.exit(main())")


@asynccontextmanager
async def on_terminal(
    base_url: str, *, launcher: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> AsyncGenerator[Terminal]:
    """The workbench in a session of its own, with the terminal to control it.

    `launcher` is a command that runs it, and is the process then.
    """
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = await asyncio.create_subprocess_exec(
        *launcher,
        *_PYTHON,
        *("--endpoint", base_url),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})},
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
    (path,) = stored()
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


async def test_suspending_stops_the_whole_job_that_a_launcher_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    # Like `uv run`, it stays in the foreground and is not part of what it starts. Without descriptor 3 the
    # shell would give a background job no keyboard.
    launcher = ("sh", "-c", f'exec 3<&0; "$@" <&3 & echo $! > {child}; wait', "sh")
    async with (
        serving(Streaming()) as loopback,
        on_terminal(loopback.base_url, launcher=launcher) as terminal,
    ):
        pid = int(child.read_text())
        try:
            os.kill(pid, signal.SIGTSTP)
            await until(lambda: terminal.is_stopped)
        finally:
            os.killpg(terminal.process.pid, signal.SIGKILL)


async def test_no_bytes_end_the_program_and_what_was_typed_right_before_quitting_is_kept() -> None:
    async with serving(Streaming()) as loopback, on_terminal(loopback.base_url) as terminal:
        for sequence in (
            b"\x1b[97;1:3u",
            b"\x1b[9999999999u",
            b"\x1b[1;1:1F",
            b"\xff\xfe",
        ):
            terminal.type(sequence)
        terminal.type(b" then")
        terminal.type(b"\x11")
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
    assert (
        kept().session.draft.prompt
        == "The lighthouse keeper opened the door and\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} then"
    )


@pytest.mark.parametrize("editor", ["no-such-editor --wait", "/tmp"])
async def test_an_editor_that_cannot_start_leaves_screen_and_keys(editor: str) -> None:
    async with (
        serving(Streaming()) as loopback,
        on_terminal(loopback.base_url, environment={"EDITOR": editor, "VISUAL": ""}) as terminal,
    ):
        terminal.type(b"\x1bOQ\x1b[20~")
        await until(lambda: b"did not start" in terminal.written)
        assert terminal.written.count(b"\x1b[?1049h") == 2
        terminal.type(b" then")
        await until(lambda: b"then" in terminal.written)
        terminal.type(b"\x11")
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0


async def test_a_hang_up_leaves_a_terminal_that_is_still_there_as_it_was() -> None:
    async with serving(Streaming()) as loopback, on_terminal(loopback.base_url) as terminal:
        with os.fdopen(os.dup(terminal.controller), "rb") as same:
            assert not termios.tcgetattr(same)[3] & termios.ECHO
            terminal.type(b"\n")
            await until(lambda: b"walked" in terminal.written)
            terminal.process.send_signal(signal.SIGHUP)
            assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
            await until(lambda: b"\x1b[?1049l" in terminal.written)
            assert termios.tcgetattr(same)[3] & termios.ECHO
        for mode in (b"1000", b"1003", b"1006", b"2004", b"1004", b"1049"):
            switch = b"\x1b[?" + mode
            assert terminal.written.rindex(switch + b"l") > terminal.written.rindex(switch + b"h"), mode
        assert b"\x1b[<u" in terminal.written
    assert [run.outcome for run in kept().session.runs] == [Outcome.STOPPED]


EDITOR = """#!/bin/sh
trap ': > {0}/got' INT QUIT
printf EDITING
until [ -e {0}/go ]; do sleep 0.05; done
printf ' and left' >> "$1"
"""
"""An editor that survives Ctrl+C and Ctrl+\\, and saves once there is a file `go`."""


def editor_in(folder: Path) -> dict[str, str]:
    """The environment with that editor."""
    path = folder / "editor"
    path.write_text(EDITOR.format(folder))
    path.chmod(0o755)
    return {"EDITOR": str(path), "VISUAL": ""}


def save(folder: Path) -> None:
    """Let that editor save and end."""
    Path(folder, "go").touch()


def stored() -> list[Path]:
    """The session files there are."""
    return list((Folders.default(os.environ).data / "sessions").glob("*.toml"))


@pytest.mark.parametrize("key", [b"\x03", b"\x1c"])
async def test_the_terminals_signals_in_an_editor_are_the_editors_and_a_stream_goes_on_meanwhile(
    key: bytes, tmp_path: Path
) -> None:
    answer = Streaming()
    async with (
        serving(answer) as loopback,
        on_terminal(loopback.base_url, environment=editor_in(tmp_path)) as terminal,
    ):
        terminal.type(b"\n")
        await until(lambda: b"walked" in terminal.written)
        terminal.type(b"\x1bOQ\x1b[20~")
        await until(lambda: b"EDITING" in terminal.written)
        terminal.type(key)
        await until(lambda: Path(tmp_path, "got").exists())
        answer.go.set()
        await until(lambda: any('outcome = "complete"' in path.read_text("utf-8") for path in stored()))
        assert b"homewards" not in terminal.written, "the editor has the terminal"
        save(tmp_path)
        await until(lambda: b"homewards" in terminal.written and b"and left" in terminal.written)
        terminal.type(b"\x11")
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
async def test_a_signal_ends_it_with_everything_kept_and_the_terminal_as_it_was(number: int) -> None:
    async with serving(Streaming()) as loopback, on_terminal(loopback.base_url) as terminal:
        with os.fdopen(os.dup(terminal.controller), "rb") as same:
            terminal.type(b" then\n")
            await until(lambda: b"walked" in terminal.written)
            terminal.process.send_signal(number)
            assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
            assert termios.tcgetattr(same)[3] & termios.ECHO
    (path,) = (Folders.default(os.environ).data / "sessions").iterdir()
    opened = SessionStore.open(path)
    assert opened.notes == ()
    assert opened.session.draft.prompt.endswith(" then")
    assert [run.outcome for run in opened.session.runs] == [Outcome.STOPPED]


async def test_a_termination_waits_for_the_editor_that_has_the_terminal(tmp_path: Path) -> None:
    async with (
        serving(Streaming()) as loopback,
        on_terminal(loopback.base_url, environment=editor_in(tmp_path)) as terminal,
    ):
        terminal.type(b"\x1bOQ\x1b[20~")
        await until(lambda: b"EDITING" in terminal.written)
        terminal.process.send_signal(signal.SIGTERM)
        save(tmp_path)
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
    assert kept().session.draft.prompt.endswith(" and left")


async def test_keys_written_in_one_piece_do_what_they_do_one_by_one() -> None:
    async with serving(answering(answer(" in"))) as loopback, on_terminal(loopback.base_url) as terminal:
        # F8, then from current settings and greedy to greedy and creative.
        terminal.type(b"\x1b[19~ \x1b[B\x1b[B\x1b[B\x1b[B \r")
        await until(lambda: len(loopback.requests) == 2)
        assert sorted(str(request.json["temperature"]) for request in loopback.requests) == ["0", "1.2"]
