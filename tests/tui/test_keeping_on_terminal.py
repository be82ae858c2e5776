"""On a real terminal: a locked session delays no key; a fault in writing one is shown and stops nothing."""

from __future__ import annotations

import asyncio
import os
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from filelock import FileLock

from tests.client.loopback import answering, hanging, head, in_turn, serving
from tests.tui.scripted import answer, logprob_event
from tests.tui.test_real_terminal import Terminal, kept, on_terminal, until

pytestmark = pytest.mark.slow

PATIENCE = 15
"""Seconds for a key to reach the screen on a busy machine; a lock is waited for longer than that."""
OBSERVED = 2.5
"""Seconds of typing while the lock is held."""
FAULTY = """
import os

fsync = os.fsync

def fail(handle):
    if os.path.exists(os.environ["FAULT"]) and b"cursed" in open(f"/proc/self/fd/{handle}", "rb").read():
        raise RuntimeError("disk driver 7 is out of order")
    fsync(handle)

os.fsync = fail
"""


def hold(path: Path, pipe: Connection) -> None:
    """Hold the lock of a session until told to let go."""
    with FileLock(path.with_name(f".{path.name}.lock")):
        pipe.send("held")
        pipe.recv()


def sessions() -> list[Path]:
    """The session files there are."""
    return list(Path(os.environ["WORKBENCH_HOME"], "data", "sessions").glob("*.toml"))


async def shown(terminal: Terminal, text: bytes) -> None:
    """Wait until something is on the terminal."""
    await asyncio.wait_for(until(lambda: text in terminal.written), PATIENCE)


def stored_runs() -> int:
    """How many runs the session's file holds, whoever has it open."""
    return sum(path.read_text("utf-8").count("\n[[runs]]\n") for path in sessions())


async def test_keys_are_shown_while_another_program_holds_the_lock_of_the_session() -> None:
    handler = in_turn(
        answering(answer(" first")), answering(answer(" second")), hanging(head() + logprob_event(" third"))
    )
    async with serving(handler) as loopback, on_terminal(loopback.base_url) as terminal:
        terminal.type(b"\n")
        await until(lambda: stored_runs() == 1)
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        holder = context.Process(target=hold, args=(sessions()[0], theirs))
        holder.start()
        assert await asyncio.to_thread(ours.recv) == "held"
        try:
            terminal.type(b"\n")
            await shown(terminal, b"second")
            terminal.type(b"\n")
            await shown(terminal, b"third")
            # Long enough that what the screen does every second comes up between two keys.
            end = asyncio.get_running_loop().time() + OBSERVED
            while asyncio.get_running_loop().time() < end:
                for key in (b"q", b"z", b"\x7f\x7f"):
                    terminal.written = b""
                    terminal.type(key)
                    await shown(terminal, key.strip(b"\x7f") or b" ")
            assert stored_runs() == 1
        finally:
            ours.send("let go")
            await asyncio.to_thread(holder.join)
        await until(lambda: stored_runs() == 2)


async def test_a_fault_in_writing_is_shown_and_everything_else_is_kept(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(FAULTY)
    fault = tmp_path / "fault"
    fault.touch()
    environment = {"PYTHONPATH": str(tmp_path / "path"), "FAULT": str(fault)}
    async with (
        serving(answering(answer(" cursed"))) as loopback,
        on_terminal(loopback.base_url, environment=environment) as terminal,
    ):
        terminal.type(b"\n")
        await shown(terminal, b"cursed")
        await shown(terminal, b"disk driver 7")
        terminal.type(b" thereafter")
        await until(lambda: b"thereafter" in stored())
        fault.unlink()
        terminal.type(b"\x11")
        assert await asyncio.wait_for(terminal.process.wait(), 60) == 0
        assert b"Traceback" not in terminal.written
    opened = kept()
    opened.store.close()
    assert opened.session.draft.prompt.endswith(" thereafter")
    assert [run.ordered[0].text for run in opened.session.runs] == [" cursed"]


def stored() -> bytes:
    """Everything in the sessions' folder, sidecars too."""
    folder = Path(os.environ["WORKBENCH_HOME"], "data", "sessions")
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


HANGING = """
import os, threading

scandir = os.scandir

def hang(path="."):
    if str(path).endswith("sessions"):
        threading.Event().wait()
    return scandir(path)

os.scandir = hang
"""


async def test_a_disk_that_hangs_lets_one_quit(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(HANGING)
    environment = {"PYTHONPATH": str(tmp_path / "path")}
    async with (
        serving(answering(answer(" in"))) as loopback,
        on_terminal(loopback.base_url, environment=environment) as terminal,
    ):
        terminal.type(b"\x0f")
        await shown(terminal, b"reading")
        terminal.type(b"\x11")
        assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
        assert b"\x1b[?1049l" in terminal.written
        assert b"Traceback" not in terminal.written
