"""What all requests to an endpoint share, whatever asked for them: its limits, its pauses and its key."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from math import inf
from pathlib import Path

import pytest

from tests.client.loopback import DONE, JSON, Handler, Received, answering, event, head, in_turn, serving
from workbench.domain.endpoint import CommandKey, Endpoint
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.split import Split
from workbench.runner.connections import Connections
from workbench.runner.endpoint_probe import Probing
from workbench.runner.many_runs import Job, ManyRuns
from workbench.runner.run_status import Phase, Status

FINE = answering(event(" fine", finish_reason="stop") + DONE)


@asynccontextmanager
async def opened() -> AsyncGenerator[Connections]:
    connections = Connections({})
    try:
        yield connections
    finally:
        await connections.aclose()


def a_run(prompt: str = "Hi", **values: int) -> Run:
    return Run(Request(TextPrompt(prompt), "m", Parameters(values)))


def jobs(endpoint: Endpoint, count: int) -> list[Job]:
    return [Job(endpoint, a_run(str(number))) for number in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - what is asked for has no event
            await asyncio.sleep(0.005)


class Crowd:
    """A server that answers once its clients have sent all that they may send at once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.waiting = 0
        self.most = 0
        self.others = asyncio.Event()

    async def __call__(self, received: Received, writer: asyncio.StreamWriter) -> None:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting >= self.size:
            self.others.set()
        await self.others.wait()
        # Whoever goes beyond the limit gets the time to do so.
        for _ in range(50):
            await asyncio.sleep(0)
        self.waiting -= 1
        await FINE(received, writer)


async def test_one_limit_holds_for_every_kind_of_request_and_every_profile_of_an_address() -> None:
    crowd = Crowd(3)
    async with serving(crowd) as server, opened() as connections:
        first = server.endpoint(name="one", concurrency=3)
        two = server.endpoint(name="two", base_url=f"{server.base_url}/completions", concurrency=3)
        split = a_run("split", n=4)
        split.split = Split(choices=True)
        probing = Probing(connections, first, "m")
        await asyncio.gather(
            ManyRuns(connections, jobs(first, 5)).execute(),
            ManyRuns(connections, jobs(two, 5)).execute(),
            connections.send(first, a_run("single")),
            connections.send(two, split),
            probing.run(),
        )
        assert crowd.most == 3
        assert len(server.requests) == 5 + 5 + 1 + 4 + probing.found.requests


async def test_an_interactive_request_goes_before_the_rest_of_a_batch() -> None:
    gate = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await FINE(received, writer)

    async with serving(handle) as server, opened() as connections:
        endpoint = server.endpoint(concurrency=1)
        batch = ManyRuns(connections, jobs(endpoint, 3))
        sending = asyncio.create_task(batch.execute())
        await until(lambda: len(server.requests) == 1)
        single = asyncio.create_task(connections.send(endpoint, a_run("single")))
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(sending, single)
        assert [request.json["prompt"] for request in server.requests] == ["0", "single", "1", "2"]


# --- being asked to wait ---------------------------------------------------------------------------------


def _in_a_day() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(days=1, minutes=30), usegmt=True)


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        (lambda: "Retry-After: 3600", "the endpoint asks to wait 1 h 0 min"),
        (lambda: f"Retry-After: {_in_a_day()}", "the endpoint asks to wait 1 d 0 h"),
        (lambda: "retry-after-ms: 86400000", "the endpoint asks to wait 1 d 0 h"),
    ],
)
async def test_a_long_wait_is_told_at_once_and_holds_the_endpoint_back_but_no_other(
    header: Callable[[], str], shown: str
) -> None:
    busy = answering(b'{"error":{"message":"slow down"}}', 429, JSON, [header()])
    async with serving(busy) as server, serving(FINE) as other, opened() as connections:
        seen: dict[str, list[Status]] = {"one": [], "two": []}
        waiting = asyncio.create_task(
            connections.send(server.endpoint(retries=2), a_run("one"), on_status=seen["one"].append)
        )
        await until(lambda: any(status.phase is Phase.RETRYING for status in seen["one"]))
        assert shown in str(seen["one"][-1])
        two = asyncio.create_task(
            connections.send(server.endpoint(name="b"), a_run("two"), on_status=seen["two"].append)
        )
        await until(lambda: bool(seen["two"]))
        assert seen["two"][-1].phase is Phase.QUEUED
        assert seen["two"][-1].seconds > 3500
        elsewhere = a_run()
        await connections.send(other.endpoint(), elsewhere)
        assert elsewhere.outcome is Outcome.COMPLETE
        for task in (waiting, two):
            task.cancel()
        await asyncio.gather(waiting, two, return_exceptions=True)
        assert len(server.requests) == 1


async def test_what_is_refused_for_good_holds_the_others_back_too() -> None:
    busy = answering(b"", 429, JSON, ["Retry-After: 3600"])
    async with serving(busy) as server, opened() as connections:
        run = a_run()
        await connections.send(server.endpoint(retries=0), run)
        assert run.outcome is Outcome.ERROR
        assert run.error is not None
        assert "Wait 1 h 0 min" in run.error.hint
        seen: list[Status] = []
        later = asyncio.create_task(connections.send(server.endpoint(), a_run(), on_status=seen.append))
        await until(lambda: bool(seen))
        assert seen[-1].seconds > 3500
        later.cancel()
        await asyncio.gather(later, return_exceptions=True)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "header", ["Retry-After: 0", "Retry-After: -1", "Retry-After: Sun, 29 Nov 2015 12:00:00 GMT"]
)
async def test_a_wait_of_no_time_is_the_ordinary_backoff(header: str) -> None:
    seen: list[Status] = []
    handler = in_turn(answering(b"", 429, JSON, [header]), FINE)
    async with serving(handler) as server, opened() as connections:
        run = a_run()
        await connections.send(server.endpoint(retries=2), run, on_status=seen.append)
        assert run.outcome is Outcome.COMPLETE
    (retrying,) = [status for status in seen if status.phase is Phase.RETRYING]
    assert 0.375 <= retrying.seconds <= 0.5
    assert "asks to wait" not in str(retrying)


class OneAtATime:
    """A server that lets one request through in a while, and says of the others how long it is.

    Of the first ones, which come at once, one is let through when the others know of the limit: before that
    nobody could keep to it.
    """

    SECONDS = 0.05

    def __init__(self, first: int) -> None:
        self.first = first
        self.arrived = 0
        self.free_at = 0.0
        self.refusals: list[tuple[float, asyncio.Event]] = []
        """When each request was refused, and whether its client has taken the refusal in and left."""
        self.early: list[str] = []

    async def __call__(self, received: Received, writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        self.arrived += 1
        is_first = self.arrived <= self.first
        if any(left.is_set() and clock() < at + self.SECONDS for at, left in self.refusals):
            self.early.append(str(received.json["prompt"]))
        if is_first:
            await until(lambda: self.arrived >= self.first)
        if clock() < self.free_at:
            self.refusals.append((clock(), received.gone))
            writer.write(head(429, JSON, 2, [f"retry-after-ms: {self.SECONDS * 1000:g}"]) + b"{}")
            await writer.drain()
            return
        self.free_at = clock() + self.SECONDS
        if is_first:
            self.free_at = inf
            await until(lambda: [left.is_set() for _, left in self.refusals] == [True] * (self.first - 1))
            self.free_at = clock() + self.SECONDS
        await FINE(received, writer)


@pytest.mark.parametrize("kind", ["batch", "split"])
async def test_a_narrow_limit_lets_everything_through_and_no_request_comes_before_its_time(kind: str) -> None:
    server_limit = OneAtATime(4)
    async with serving(server_limit) as server, opened() as connections:
        endpoint = server.endpoint(concurrency=4, retries=2)
        if kind == "batch":
            batch = jobs(endpoint, 12)
            await ManyRuns(connections, batch).execute()
            runs = [job.run for job in batch]
        else:
            run = a_run(n=12)
            run.split = Split(choices=True)
            await connections.send(endpoint, run)
            runs = [run]
        assert [run.outcome for run in runs] == [Outcome.COMPLETE] * len(runs)
        assert server_limit.early == []


# --- keys ------------------------------------------------------------------------------------------------


def counting_command(counter: Path, printed: str) -> CommandKey:
    """A command that counts how often it runs, in a file, and prints a key that may have the number in it."""
    script = (
        "import sys, pathlib\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "file.open('a').write('x')\n"
        "print(sys.argv[2].format(len(file.read_text())))\n"
    )
    return CommandKey((sys.executable, "-c", script, str(counter), printed))


def accepting(key: str) -> Handler:
    """A server that takes one key."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        taken = received.headers["authorization"] == f"Bearer {key}"
        await (FINE if taken else answering(b'{"error":"bad key"}', 401, JSON))(received, writer)

    return handle


async def test_a_key_command_runs_once_for_all_requests_of_a_session(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    async with serving(accepting("sk_same")) as server, opened() as connections:
        endpoint = server.endpoint(key=counting_command(counter, "sk_same"), concurrency=4)
        batch = jobs(endpoint, 20)
        await ManyRuns(connections, batch).execute()
        await connections.send(endpoint, a_run())
        assert all(job.run.outcome is Outcome.COMPLETE for job in batch)
    assert counter.read_text() == "x"


async def test_a_refused_key_is_asked_for_again_and_the_request_goes_out_with_the_new_one(
    tmp_path: Path,
) -> None:
    counter = tmp_path / "runs"
    async with serving(accepting("sk_2")) as server, opened() as connections:
        endpoint = server.endpoint(key=counting_command(counter, "sk_{}"), retries=2, concurrency=4)
        batch = jobs(endpoint, 8)
        await ManyRuns(connections, batch).execute()
        assert [job.run.outcome for job in batch] == [Outcome.COMPLETE] * 8
    assert counter.read_text() == "xx"


async def test_a_key_that_stays_refused_is_not_asked_for_with_every_request(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    async with serving(accepting("another")) as server, opened() as connections:
        endpoint = server.endpoint(key=counting_command(counter, "sk_same"), retries=2)
        batch = jobs(endpoint, 10)
        await ManyRuns(connections, batch).execute()
        assert {job.run.error.status for job in batch if job.run.error is not None} == {401}
    assert counter.read_text() == "xx"


async def test_a_key_command_that_fails_is_not_run_for_every_request_of_a_batch(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    async with serving(FINE) as server, opened() as connections:
        endpoint = server.endpoint(key=counting_command(counter, "{not a number}"), retries=2)
        batch = jobs(endpoint, 10)
        await ManyRuns(connections, batch).execute()
        titles = {job.run.error.title for job in batch if job.run.error is not None}
        assert titles == {"The command that prints the API key failed"}
        assert server.requests == []
    assert counter.read_text() == "x"


# --- the clock of a run ----------------------------------------------------------------------------------


async def test_a_run_s_times_begin_when_the_answered_request_goes_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("workbench.runner.execution.perf_counter", lambda: clock[0])

    async def refuse(received: Received, writer: asyncio.StreamWriter) -> None:
        clock[0] += 100
        await answering(b"", 429, JSON, ["retry-after-ms: 1"])(received, writer)

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        clock[0] += 2
        await FINE(received, writer)

    async with serving(in_turn(refuse, answer)) as server, opened() as connections:
        run = a_run()
        before = run.started
        await connections.send(server.endpoint(retries=1), run)
        assert (run.first_token, run.total) == (2.0, 2.0)
        assert run.started > before


async def test_each_request_of_a_split_run_has_a_clock_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("workbench.runner.execution.perf_counter", lambda: clock[0])

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        clock[0] += 2
        await FINE(received, writer)

    async with serving(answer) as server, opened() as connections:
        run = a_run(n=3)
        run.split = Split(choices=True)
        await connections.send(server.endpoint(concurrency=1), run)
        assert [choice.at[0] for choice in run.ordered] == [2.0, 2.0, 2.0]
        assert run.total == 6.0
