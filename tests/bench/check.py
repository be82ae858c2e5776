"""`workbench check` of 10,000 cases against a server that answers 200 requests a second, 64 at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import log
from pathlib import Path

from tests.bench.figure import Figure
from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Session
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_format import head_to_toml

CASES = 10_000
RATE = 200
AT_ONCE = 64
TOKENS = 16
SLOWER = 1.1
MOST_MB = 200

_ROOT = Path(__file__).parents[2]
_ANSWER = [f" word{index}" for index in range(TOKENS)]
_LOGPROBS = [log(share) for share in (0.5, 0.2, 0.1, 0.05, 0.01)]
_SERVER = f"""
import asyncio, json
names = {_ANSWER!r}
others = {{f" other{{place}}": one for place, one in enumerate({_LOGPROBS[1:]!r})}}
tops = [{{name: {_LOGPROBS[0]!r}, **others}} for name in names]
logprobs = {{"tokens": names, "token_logprobs": [{_LOGPROBS[0]!r}] * len(names), "top_logprobs": tops}}
choice = {{"index": 0, "text": "".join(names), "finish_reason": "length", "logprobs": logprobs}}
answer = json.dumps({{"id": "x", "model": "m", "choices": [choice]}}).encode()
head = "HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n"
reply = (head % len(answer)).encode() + answer
async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower()
            await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\\r\\n")[0]))
            await asyncio.sleep({AT_ONCE / RATE!r})
            writer.write(reply)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

_MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""Runs a command and prints its most memory in KiB.

The system counts what a process's parent had when it began, and the benchmark itself is large by then.
"""


@contextmanager
def _server() -> Iterator[str]:
    """The base URL of a server that takes the same time for every answer."""
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def write_session(path: Path, cases: int) -> None:
    """A session whose runs have the server's answer."""
    parameters = Parameters({"max_tokens": TOKENS, "temperature": 0.0, "logprobs": 5, "stream": False})
    recorded = Run(Request(TextPrompt("Once upon a time"), "m", parameters), "test", outcome=Outcome.COMPLETE)
    choice = recorded.choices[0] = Choice(0, 5)
    for name in _ANSWER:
        others = (Alternative(f" other{index}", logprob) for index, logprob in enumerate(_LOGPROBS[1:]))
        listed = (Alternative(name, _LOGPROBS[0]), *others)
        choice.append(ReceivedToken(name, _LOGPROBS[0], listed), 0.1)
    choice.finish_reason = "length"
    with path.open("w", encoding="utf-8") as file:
        file.write(head_to_toml(Session()))
        for number in range(cases):
            file.write(run_to_toml(replace(recorded, id=f"{number:032x}")))


def figures() -> list[Figure]:
    """Seconds and memory of the whole command, its start and its reading of the session included."""
    with tempfile.TemporaryDirectory() as folder, _server() as url:
        session, progress = Path(folder, "cases.toml"), Path(folder, "progress.jsonl")
        write_session(session, CASES)
        options = ["--endpoint", url, "--concurrency", str(AT_ONCE), "--progress", str(progress), "--yes"]
        began = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _MEASURED,
                sys.executable,
                "-m",
                "workbench",
                "check",
                str(session),
                *options,
            ],
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            env={**os.environ, "WORKBENCH_HOME": folder},
        )
        assert process.stdout is not None
        most_kib = int(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        checked = len(progress.read_bytes().splitlines()) - 1
        if process.returncode or checked != CASES:
            raise RuntimeError(f"the check of {checked} cases ended with {process.returncode}")
    least, size = CASES / RATE, most_kib / 1024
    return [
        Figure(
            f"check: {CASES:,} cases",
            seconds,
            "s",
            f"≤ {SLOWER:g}× what the server allows",
            seconds <= SLOWER * least,
            {"the server alone": least, "CPU time of the check": used.ru_utime + used.ru_stime},
        ),
        Figure(f"check: memory for {CASES:,} cases", size, "MB", f"≤ {MOST_MB} MB", size <= MOST_MB),
    ]
