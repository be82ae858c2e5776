"""The embedded model's process: started when needed, ended with its parent, started anew when it died."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from workbench.client.client import Client
from workbench.domain.endpoint import LOCAL, Endpoint, EnvironmentKey
from workbench.domain.errors import EngineError
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome, Run
from workbench.runner.launch import launch
from workbench.runner.local_server import KEY_VARIABLE, LocalServer
from workbench.runner.status import Status

ENDPOINT = Endpoint(LOCAL, "http://127.0.0.1:1/v1", model="")

pytestmark = pytest.mark.slow


def told(_: Status) -> None:
    """Nobody listens for the status here."""


def long_run() -> Run:
    return Run(
        Request(TextPrompt("Once upon a time"), "", Parameters({"max_tokens": 1500, "seed": 1})), LOCAL
    )


async def until_tokens(run: Run, count: int) -> None:
    async with asyncio.timeout(60):
        while run.tokens < count:  # noqa: ASYNC110 - a store that grows has no event to wait for
            await asyncio.sleep(0.01)


async def test_it_starts_on_the_first_run_with_a_random_key_and_ends_when_closed() -> None:
    environment: dict[str, str] = dict(os.environ)
    server = LocalServer(environment)
    assert not server.is_running
    endpoint = await server.ensure(ENDPOINT)
    pid = server.pid
    assert pid is not None
    assert endpoint.key == EnvironmentKey(KEY_VARIABLE)
    assert endpoint.model == await server.model_name()
    assert environment[KEY_VARIABLE] not in " ".join(psutil.Process(pid).cmdline())
    assert (await server.ensure(ENDPOINT)).base_url == endpoint.base_url
    assert server.pid == pid
    await server.aclose()
    assert not psutil.pid_exists(pid)


async def test_an_engine_killed_midstream_is_named_keeps_the_text_and_is_started_anew() -> None:
    environment: dict[str, str] = dict(os.environ)
    server, client = LocalServer(environment), Client(environment)
    try:
        run = long_run()
        task = asyncio.create_task(launch(client, server, ENDPOINT, run, told))
        await until_tokens(run, 5)
        first = server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await task
        assert run.outcome is Outcome.ERROR
        assert run.error is not None
        assert "embedded engine ended (signal SIGKILL)" in run.error.title
        assert run.choices[0].text
        again = Run(Request(TextPrompt("Hello"), "", Parameters({"max_tokens": 4})), LOCAL)
        await launch(client, server, ENDPOINT, again, told)
        assert again.outcome is Outcome.COMPLETE
        assert server.pid != first
    finally:
        await client.aclose()
        await server.aclose()


async def test_stopping_a_run_keeps_its_text() -> None:
    environment: dict[str, str] = dict(os.environ)
    server, client = LocalServer(environment), Client(environment)
    try:
        run = long_run()
        task = asyncio.create_task(launch(client, server, ENDPOINT, run, told))
        await until_tokens(run, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert run.outcome is Outcome.STOPPED
        assert run.choices[0].text
    finally:
        await client.aclose()
        await server.aclose()


async def test_a_missing_model_says_what_is_wrong() -> None:
    server = LocalServer(dict(os.environ), model="/nowhere/model.gguf")
    with pytest.raises(EngineError) as caught:
        await server.ensure(ENDPOINT)
    assert "/nowhere/model.gguf" in str(caught.value)
    assert not server.is_running


def test_a_parent_killed_leaves_no_child() -> None:
    script = (
        "import asyncio, os\n"
        "from workbench.domain.endpoint import Endpoint\n"
        "from workbench.runner.local_server import LocalServer\n"
        "async def main():\n"
        "    server = LocalServer(dict(os.environ))\n"
        "    await server.ensure(Endpoint('local', 'http://127.0.0.1:1/v1'))\n"
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
    server = LocalServer(dict(os.environ), model=str(path))
    assert await server.model_name() == "my-model"
    assert not server.is_running
    with pytest.raises(EngineError, match="no GGUF model file"):
        await LocalServer(dict(os.environ), model="/nowhere/model.gguf").model_name()
