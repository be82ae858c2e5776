"""`workbench run --session` killed in the middle of a dense stream: everything it had stored is recovered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.test_run import start
from tests.client.loopback import Received, head, serving
from tests.tui.test_real_terminal import until
from workbench.storage.session_store import SessionStore

CHOICES = 4
INCREMENTS = 5
"""Increments of the journal that are written while the stream is dense."""
BURST = 200
"""Tokens of each choice in one write to the socket."""


def tokens_event(number: int) -> bytes:
    """One token of every choice, with two alternatives each."""
    text = f" t{number}"
    logprobs = {"tokens": [text], "token_logprobs": [-0.5], "top_logprobs": [{text: -0.5, " no": -1.5}]}
    choices = [{"index": index, "text": text, "logprobs": logprobs} for index in range(CHOICES)]
    return b"data: " + json.dumps({"model": "m", "choices": choices}).encode() + b"\n\n"


class DenseStream:
    """Sends tokens as fast as they are taken until the journal has grown often enough, then nothing more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent = 0
        self.is_whole = asyncio.Event()

    def journal(self) -> bytes:
        """What is stored of the streaming run."""
        return b"".join(path.read_bytes() for path in self.folder.glob(".*.run"))

    async def __call__(self, received: Received, writer: asyncio.StreamWriter) -> None:
        """Answer."""
        writer.write(head())
        while self.journal().count(b"\n") < INCREMENTS * CHOICES:
            writer.write(b"".join(map(tokens_event, range(self.sent, self.sent + BURST))))
            self.sent += BURST
            await writer.drain()
        self.is_whole.set()
        await received.gone.wait()


@pytest.mark.slow
async def test_every_token_that_was_stored_before_a_kill_is_recovered(tmp_path: Path) -> None:
    path = tmp_path / "killed.toml"
    stream = DenseStream(tmp_path)
    async with serving(stream) as server:
        process = await start(
            *("run", "--prompt", "Once", "--n", str(CHOICES), "--logprobs", "2", "--json"),
            *("--endpoint", server.base_url, "--session", str(path)),
        )
        await asyncio.wait_for(stream.is_whole.wait(), 60)
        last = f' t{stream.sent - 1}"'.encode()
        await until(lambda: stream.journal().count(last) >= CHOICES)
        process.kill()
        await process.communicate()
    opened = SessionStore.open(path)
    opened.store.close()
    (run,) = opened.session.runs
    whole = "".join(f" t{number}" for number in range(stream.sent))
    assert [len(choice) for choice in run.ordered] == [stream.sent] * CHOICES
    assert {choice.text for choice in run.ordered} == {whole}
