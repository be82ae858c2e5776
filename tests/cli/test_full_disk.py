"""Where a session cannot be written, answers are printed whole, and it is said that they are not kept."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import Done
from tests.client.loopback import DONE, Received, answering, event, head, serving

MOST = 8192
"""Bytes that a file may have."""
TEXTS = ("\n" * 200, *(f" word{number}" for number in range(1500)))
WHOLE = "".join(TEXTS)
ANSWER = b"".join(map(event, TEXTS)) + event("", finish_reason="stop") + DONE

pytestmark = pytest.mark.slow


async def limited(*argv: str) -> Done:
    """A command that can write no large file."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "workbench", *argv),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST)),
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return Done(process.returncode, out, err.decode())


def assert_not_kept(done: Done) -> None:
    """It is said in a sentence that nothing false is in."""
    assert done.status == 1
    assert "not kept in the session" in done.err
    assert "Traceback" not in done.err
    assert "in memory" not in done.err


@pytest.mark.parametrize("session", ["s.toml", "gone/s.toml"])
async def test_an_answer_is_printed_whole_as_text_and_as_json(session: str, tmp_path: Path) -> None:
    async with serving(answering(ANSWER)) as server:
        arguments = ("run", "--prompt", "x" * 7500, "--endpoint", server.base_url)
        done = await limited(*arguments, "--session", str(tmp_path / session))
        assert done.out.decode() == WHOLE
        assert_not_kept(done)
        done = await limited(*arguments, "--session", str(tmp_path / f"other-{session}"), "--json")
    assert [choice["text"] for choice in json.loads(done.out)["choices"]] == [WHOLE]
    assert_not_kept(done)


@pytest.mark.parametrize("command", ["compare", "sweep"])
async def test_the_answers_of_many_requests_are_printed(command: str, tmp_path: Path) -> None:
    each = {
        "compare": ("--preset", "greedy", "--preset", "creative"),
        "sweep": ("--vary", "temperature=0,1", "--yes"),
    }
    async with serving(answering(ANSWER)) as server:
        arguments = (command, *each[command], "--prompt", "x" * 7500, "--endpoint", server.base_url)
        done = await limited(*arguments, "--model", "m", "--session", str(tmp_path / "s.toml"), "--json")
    texts = [run["choices"][0]["text"] for run in json.loads(done.out)]
    assert texts == [WHOLE, WHOLE]
    assert_not_kept(done)


@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_an_answer_is_printed_where_the_folder_is_removed_meanwhile(
    form: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "gone"

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        # What writes beside the session may put a file there while the folder is emptied.
        while folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
        # A file in its place, as a folder that is made again would be as good as the first.
        os.close(os.open(folder, os.O_CREAT))
        writer.write(head() + ANSWER)
        await writer.drain()

    async with serving(handle) as server:
        arguments = ("run", "--prompt", "hi", "--endpoint", server.base_url)
        done = await limited(*arguments, "--session", str(folder / "s.toml"), *form)
    text = json.loads(done.out)["choices"][0]["text"] if form else done.out.decode()
    assert text == WHOLE
    assert_not_kept(done)


async def test_the_report_of_a_check_is_printed_where_an_answer_cannot_be_blessed(tmp_path: Path) -> None:
    session = str(tmp_path / "s.toml")
    async with serving(answering(event(" once", finish_reason="stop") + DONE)) as server:
        options = ("--temperature", "0", "--endpoint", server.base_url, "--session", session)
        assert (await limited("run", "--prompt", "x", *options)).status == 0
    async with serving(answering(ANSWER)) as server:
        done = await limited("check", session, "--bless", "--endpoint", server.base_url)
    assert "1 case: 1 differs" in done.out.decode()
    assert done.status == 1
    assert "s.toml cannot be written" in done.err
    assert "Traceback" not in done.err
