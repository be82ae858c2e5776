"""The local server beside llama.cpp's own, both on the embedded model: tokens a second through each."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.figure import PAIRED, Figure, median, paired
from workbench.local.llama_library import SPIN_COUNT
from workbench.local.llama_model import count_cores
from workbench.local.model_file import find_model, model_name
from workbench.local.options import ServeOptions

ROUNDS = 5
TOKENS = 64
GOAL = 1.0
SCORED_TOKENS = 4000
SCORING_ROUNDS = 3
SCORING_GOAL = 1.5

_ROOT = Path(__file__).parents[2]
_KEY = "a-key-for-the-benchmark"
_OWN = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_parallel, params.n_ctx = int(sys.argv[2]), int(sys.argv[2]) * int(sys.argv[3])
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[4])
params.cache_prompt, params.port, params.verbosity = False, 0, 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def _process(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=_ROOT,
        env={"GOMP_SPINCOUNT": SPIN_COUNT, **os.environ, "BENCH_KEY": _KEY},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """What a server says of itself once it answers, ours in JSON and llama.cpp's as it is."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            return str(json.loads(line)["url"])
        if line.startswith("http"):
            return line.strip()
    raise RuntimeError("the server did not start")


def _ask(url: str, logprobs: int | None, **fields: object) -> int:
    """Stream one completion to its end; answers with the number of its tokens."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)
    body: dict[str, object] = {
        "model": model_name(find_model()),
        "prompt": "Once upon a time, in a village by the sea, there lived",
        "max_tokens": TOKENS,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        **fields,
    }
    # Ours evaluates every prompt anew, by design; llama.cpp's own would take it from the request before.
    body["cache_prompt"] = False
    if logprobs is not None:
        body["logprobs"] = logprobs
    headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"{url} answered {answer.status}: {answer.read()!r}")
    made = 0
    for line in answer:
        if line.startswith(b"data: {"):
            usage = json.loads(line[6:]).get("usage") or {}
            made = usage.get("completion_tokens", made)
    connection.close()
    return made


def _rate(url: str, streams: int, logprobs: int | None) -> float:
    """Tokens a second, of all streams together."""
    with ThreadPoolExecutor(streams) as threads:
        began = time.perf_counter()
        made = sum(threads.map(partial(_ask, logprobs=logprobs), [url] * streams))
        return made / (time.perf_counter() - began)


def _scoring(url: str) -> Figure:
    """What a prompt costs with the logprobs of its tokens, by what it costs without."""
    prompt = [1000 + index % 10_000 for index in range(SCORED_TOKENS)]
    ratios = []
    for _ in range(SCORING_ROUNDS):
        seconds = []
        for fields in ({"logprobs": None}, {"logprobs": 5, "echo": True}):
            began = time.perf_counter()
            _ask(url, **fields, prompt=prompt, max_tokens=1)
            seconds.append(time.perf_counter() - began)
        ratios.append(seconds[1] / seconds[0])
    ratio = median(ratios)
    name = f"local server: {SCORED_TOKENS:,} prompt tokens scored ÷ evaluated"
    return Figure(name, ratio, "×", f"≤ {SCORING_GOAL:g}×", ratio <= SCORING_GOAL)


def figures() -> list[Figure]:
    """Tokens a second in turns, so that what else the machine does meets both alike; medians of the turns."""
    options = ServeOptions()
    own = ["-c", _OWN, str(find_model()), str(options.slots), str(options.context), str(count_cores())]
    ours = ["-m", "workbench.local", "--api-key-env", "BENCH_KEY"]
    kinds = {
        "one stream": (1, None),
        "one stream with 5 logprobs": (1, 5),
        "four streams at once": (4, None),
        "four streams at once with 5 logprobs": (4, 5),
    }
    rows = []
    with _process(ours) as first, _process(own) as second:
        urls = _address(first), _address(second)
        for name, (streams, logprobs) in kinds.items():
            rates: tuple[list[float], list[float]] = ([], [])
            for turn in range(ROUNDS + 1):
                for url, found in zip(urls, rates, strict=True):
                    rate = _rate(url, streams, logprobs)
                    # The first turn warms both up.
                    if turn:
                        found.append(rate)
            mine, theirs = map(median, rates)
            ratio = paired(*rates)
            goal = f"≥ {GOAL:g}× llama.cpp's own server"
            peers = {"llama.cpp's own server": theirs, PAIRED: ratio}
            rows.append(Figure(f"local server: {name}", mine, "tokens/s", goal, ratio >= GOAL, peers))
        rows.append(_scoring(urls[0]))
    return rows
