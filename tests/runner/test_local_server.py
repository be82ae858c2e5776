"""The embedded model's process: started when needed, ended with its parent, started anew when it died."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import EngineError
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.runner.connections import Connections
from workbench.runner.local_server import KEY_VARIABLE, Listening, LocalServer

ENDPOINT = Endpoint(LOCAL, "http://127.0.0.1:1/v1", model="", tokenizer=True)

pytestmark = pytest.mark.slow


def children() -> list[int]:
    """The process ids of the local servers that this process has started for a run.

    Other tests have servers of their own in the same process, with another key.
    """
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if KEY_VARIABLE in child.cmdline():
                found.append(child.pid)
    return found


def long_run() -> Run:
    return Run(
        Request(TextPrompt("Once upon a time"), "", Parameters({"max_tokens": 1500, "seed": 1})), LOCAL
    )


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - neither a store that grows nor a process has an event
            await asyncio.sleep(0.01)


async def test_it_starts_on_the_first_run_with_a_random_key_and_ends_when_closed() -> None:
    environment: dict[str, str] = dict(os.environ)
    connections = Connections(environment)
    named = await connections.models(ENDPOINT)
    assert not connections.is_ready(ENDPOINT)
    assert len(await connections.tokenize(ENDPOINT, "Once upon a time")) == 4
    (pid,) = children()
    assert environment[KEY_VARIABLE] not in " ".join(psutil.Process(pid).cmdline())
    assert connections.is_ready(ENDPOINT)
    assert await connections.models(ENDPOINT) == named
    run = Run(Request(TextPrompt("Hello"), "", Parameters({"max_tokens": 1})), LOCAL)
    await connections.send(ENDPOINT, run)
    assert [run.sent["model"]] == named
    assert len(await connections.tokenize(ENDPOINT, "Once")) == 1
    assert children() == [pid]
    await connections.aclose()
    assert not psutil.pid_exists(pid)


async def test_an_engine_killed_midstream_is_named_keeps_the_text_and_is_started_anew() -> None:
    connections = Connections(dict(os.environ))
    try:
        run = long_run()
        task = asyncio.create_task(connections.send(ENDPOINT, run))
        await until(lambda: run.tokens >= 5)
        (first,) = children()
        os.kill(first, signal.SIGKILL)
        await task
        assert run.outcome is Outcome.ERROR
        assert run.error is not None
        assert "embedded engine stopped (signal SIGKILL)" in run.error.title
        assert run.choices[0].text
        again = Run(Request(TextPrompt("Hello"), "", Parameters({"max_tokens": 4})), LOCAL)
        await connections.send(ENDPOINT, again)
        assert again.outcome is Outcome.COMPLETE
        assert first not in children()
    finally:
        await connections.aclose()


async def test_stopping_a_run_keeps_its_text() -> None:
    connections = Connections(dict(os.environ))
    try:
        run = long_run()
        task = asyncio.create_task(connections.send(ENDPOINT, run))
        await until(lambda: run.tokens >= 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert run.outcome is Outcome.STOPPED
        assert run.choices[0].text
    finally:
        await connections.aclose()


async def test_a_missing_model_says_what_is_wrong() -> None:
    connections = Connections(dict(os.environ), model="/nowhere/model.gguf")
    for _ in range(2):
        run = long_run()
        await connections.send(ENDPOINT, run)
        assert run.outcome is Outcome.ERROR
        assert run.error is not None
        assert "/nowhere/model.gguf" in run.error.title + run.error.message
        assert children() == []


def test_a_parent_killed_leaves_no_child() -> None:
    script = (
        "import asyncio, os\n"
        "from workbench.runner.local_server import LocalServer\n"
        "async def main():\n"
        "    server = LocalServer(dict(os.environ))\n"
        "    await server.ensure()\n"
        "    print(server.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        parent.kill()
    deadline = time.monotonic() + 10
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.05)


async def test_the_model_is_named_before_anything_is_started(tmp_path: Path) -> None:
    path = tmp_path / "My-Model.Q8_0.gguf"
    path.write_bytes(b"GGUF")
    assert await Connections(dict(os.environ), model=str(path)).models(ENDPOINT) == ["my-model"]
    assert children() == []
    with pytest.raises(EngineError, match=r"cannot be read\nNo such file or directory\. Check --model\."):
        await Connections(dict(os.environ), model="/nowhere/model.gguf").models(ENDPOINT)


# --- starts that do not come to their end ----------------------------------------------------------------

PRETENDER = """#!{python}
import json, os, pathlib, sys, time
folder = pathlib.Path(os.environ["PRETENDED"])
(folder / "starts").open("a").write("x")
print("loading " + "#" * 200_000, file=sys.stderr, flush=True)
while (folder / "held").exists():
    time.sleep(0.01)
print(json.dumps({{"url": "http://127.0.0.1:9/v1", "model": "m"}}), flush=True)
sys.stdout.write("#" * 200_000)
sys.stdout.flush()
(folder / "written").touch()
sys.stdin.read()
"""
"""Stands for the engine: listens once it is not held any more, writes much, and ends with its parent."""


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose file `held` keeps the pretended engine from listening."""
    pretender = tmp_path / "pretender"
    pretender.write_text(PRETENDER.format(python=sys.executable), encoding="utf-8")
    pretender.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(pretender))
    monkeypatch.setenv("PRETENDED", str(tmp_path))
    (tmp_path / "held").touch()
    return tmp_path


def starts(pretended: Path) -> int:
    path = pretended / "starts"
    return len(path.read_text("utf-8")) if path.exists() else 0


async def test_a_cancelled_start_goes_on_and_serves_the_next_run(pretended: Path) -> None:
    server = LocalServer({})
    first = asyncio.create_task(server.ensure())
    await until(lambda: starts(pretended) == 1)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not server.is_running
    second, third = asyncio.create_task(server.ensure()), asyncio.create_task(server.ensure())
    (pretended / "held").unlink()
    assert await second == await third == Listening("http://127.0.0.1:9/v1", "m")
    assert starts(pretended) == 1
    await until((pretended / "written").exists)
    await server.aclose()
    assert children() == []


async def test_closing_during_a_start_leaves_no_child_and_starts_none(pretended: Path) -> None:
    server = LocalServer({})
    waiting = asyncio.create_task(server.ensure())
    await until(lambda: starts(pretended) == 1)
    await server.aclose()
    assert children() == []
    with pytest.raises(EngineError, match="stopped"):
        await waiting
    with pytest.raises(EngineError, match="stopped"):
        await server.ensure()
    assert starts(pretended) == 1


async def test_a_child_that_dies_while_it_starts_is_named_and_started_anew(pretended: Path) -> None:
    server = LocalServer({})
    waiting = [asyncio.create_task(server.ensure()) for _ in range(2)]
    await until(lambda: starts(pretended) == 1)
    (pid,) = children()
    os.kill(pid, signal.SIGKILL)
    for task in waiting:
        with pytest.raises(EngineError, match="signal SIGKILL"):
            await task
    (pretended / "held").unlink()
    assert await server.ensure() == Listening("http://127.0.0.1:9/v1", "m")
    assert starts(pretended) == 2
    await server.aclose()


@pytest.mark.parametrize("output", ["'hello'", "'x' * 100_000"])
async def test_a_start_that_says_no_address_is_ended(output: str, pretended: Path) -> None:
    (pretended / "pretender").write_text(f"#!{sys.prefix}/bin/python\nprint({output}, flush=True)\ninput()\n")
    server = LocalServer({})
    with pytest.raises(EngineError, match="gave no address"):
        await server.ensure()
    assert children() == []
    await server.aclose()


async def test_a_run_stopped_while_the_engine_starts_does_not_break_the_next_one() -> None:
    connections = Connections(dict(os.environ))
    try:
        run = long_run()
        task = asyncio.create_task(connections.send(ENDPOINT, run))
        await until(children)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert run.outcome is Outcome.STOPPED
        again = Run(Request(TextPrompt("Hello"), "", Parameters({"max_tokens": 4})), LOCAL)
        await connections.send(ENDPOINT, again)
        assert again.error is None
        assert again.outcome is Outcome.COMPLETE
    finally:
        await connections.aclose()
    assert children() == []


async def test_an_engine_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    server = LocalServer({})
    for request in (server.ensure(), server.model_name()):
        with pytest.raises(EngineError, match="cannot be started") as caught:
            await request
        assert caught.value.message == "/nowhere/python: No such file or directory"
    await server.aclose()
