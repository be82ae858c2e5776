"""The rate limiter: how many at once and a minute, who comes first, and what holds everything back."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeVar

import pytest

from workbench.domain.endpoint import Endpoint
from workbench.runner.limiter import Limiter

Result = TypeVar("Result")


class _Selector(selectors.SelectSelector):
    """Lets the clock jump to the next timer instead of waiting for it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


def run(test: Coroutine[None, None, Result]) -> Result:
    """Run a coroutine on a clock that never waits."""
    selector = _Selector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(test)


def limits(concurrency: int = 1, per_minute: int | None = None) -> Endpoint:
    return Endpoint("e", "", concurrency=concurrency, requests_per_minute=per_minute)


class Requests:
    """Requests through one limiter; `sent` has the name and the time of each that went out."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.limiter = Limiter()
        self.endpoint = endpoint
        self.sent: list[tuple[str, float]] = []
        self.waits: dict[str, list[float]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._over: dict[str, asyncio.Event] = {}

    async def ask(self, *names: str, batch: str = "", again: bool = False) -> None:
        for name in names:
            self._over[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._request(name, batch, again=again))
        await settled()

    async def _request(self, name: str, batch: str, *, again: bool) -> None:
        waits = self.waits.setdefault(name, [])
        async with self.limiter.turn(self.endpoint, batch, on_wait=waits.append, again=again) as turn:
            self.sent.append((name, asyncio.get_running_loop().time()))
            await self._over[name].wait()
            self.limiter.answered(turn)

    async def end(self, *names: str) -> None:
        for name in names:
            self._over[name].set()
        await settled()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        with suppress(asyncio.CancelledError):
            await self._tasks[name]

    @property
    def names(self) -> str:
        return "".join(name for name, _ in self.sent)


async def settled() -> None:
    """Let everything happen that needs no time."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_so_many_go_at_once_and_the_next_when_one_is_over() -> None:
    async def test() -> None:
        requests = Requests(limits(2))
        await requests.ask(*"abcd")
        assert requests.names == "ab"
        await requests.end("b")
        assert requests.names == "abc"
        await requests.end("a", "c")
        assert requests.names == "abcd"

    run(test())


def test_interactive_requests_go_first_and_batches_take_turns() -> None:
    async def test() -> None:
        requests = Requests(limits(1))
        await requests.ask("0")
        await requests.ask(*"abc", batch="first")
        await requests.ask(*"xyz", batch="second")
        await requests.ask("!")
        for name in "0!axbycz":
            assert requests.names[-1] == name
            await requests.end(name)
        assert requests.names == "0!axbycz"

    run(test())


def test_what_is_sent_again_goes_before_the_rest_of_its_batch_in_its_own_order() -> None:
    async def test() -> None:
        requests = Requests(limits(1))
        await requests.ask("0")
        await requests.ask(*"ab", batch="one")
        await requests.ask(*"xy", batch="one", again=True)
        for name in "0xyab":
            await requests.end(name)
        assert requests.names == "0xyab"

    run(test())


def test_no_more_go_out_in_any_minute_than_are_allowed() -> None:
    async def test() -> None:
        requests = Requests(limits(10, per_minute=2))
        await requests.ask(*"abcde")
        await requests.end(*"abcde")
        await asyncio.sleep(600)
        assert [round(at, 3) for _, at in requests.sent] == [0, 0, 60, 60, 120]

    run(test())


def test_a_hold_holds_everything_back_but_what_is_under_way_and_says_how_long() -> None:
    async def test() -> None:
        requests = Requests(limits(4))
        await requests.ask("a")
        requests.limiter.hold(3600)
        await requests.ask("b", batch="one")
        await requests.ask("c")
        await asyncio.sleep(600)
        await requests.end("a")
        requests.limiter.hold(10)
        assert requests.names == "a"
        assert [round(seconds) for seconds in requests.waits["b"]] == [3600, 3000]
        await asyncio.sleep(3600)
        assert requests.sent[1:] == [("c", 3600)]

    run(test())


def test_after_a_hold_requests_go_one_by_one_until_two_are_accepted() -> None:
    async def test() -> None:
        requests = Requests(limits(8))
        requests.limiter.hold(5)
        await requests.ask(*"abcdefgh")
        await asyncio.sleep(6)
        assert requests.names == "a"
        await requests.end("a")
        assert requests.names == "ab"
        await requests.end("b")
        assert requests.names == "abcd"
        await requests.end("c")
        assert requests.names == "abcdef"
        await requests.end("d", "e", "f")
        assert requests.names == "abcdefgh"

    run(test())


@pytest.mark.parametrize("cancelled", ["a", "b", "c"])
def test_a_cancelled_request_gives_its_place_back(cancelled: str) -> None:
    async def test() -> None:
        requests = Requests(limits(1))
        await requests.ask(*"abcd")
        await requests.cancel(cancelled)
        for name in "abcd".replace(cancelled, ""):
            await settled()
            assert requests.names[-1] == name
            await requests.end(name)

    run(test())


def test_a_request_cancelled_in_the_moment_that_it_may_go_gives_its_place_back() -> None:
    async def test() -> None:
        requests = Requests(limits(1))
        await requests.ask(*"abc")
        requests._over["a"].set()
        # One step ends a, which lets b out; b itself has not run yet.
        await asyncio.sleep(0)
        await requests.cancel("b")
        await settled()
        assert requests.names == "ac"

    run(test())
