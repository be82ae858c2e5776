"""The token view beside other text widgets: cost per batch, stalls, time from key to screen, memory.

Everything is drawn by a real Textual application whose terminal swallows the output, so that making the
escape sequences counts too.
"""

from __future__ import annotations

import asyncio
import gc
import random
import re
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, NamedTuple

from rich.text import Text
from textual.app import App, ComposeResult
from textual.drivers.headless_driver import HeadlessDriver
from textual.events import Key
from textual.widget import Widget
from textual.widgets import RichLog, TextArea

from tests.bench.figure import Figure, latency, median, percentile
from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.tui.motion import pace_of
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import Section

BATCH = 33
"""Tokens of one frame: 2,000 a second at 60 Hz."""
FRAME = 1 / 60
_PATIENCE = 5.0
SIZE = (120, 40)
ROUNDS = 5
_CURSOR = r"[\[;]7[;m]"
"""The cursor's style where there is no theme, of which only "reverse" is in no other style."""


class Sink(HeadlessDriver):
    """A terminal that takes what is drawn and shows it to nobody."""

    awaited: ClassVar[Callable[[str], object]] = staticmethod(lambda data: None)
    """Whether some output shows what is waited for."""
    drawn: tuple[float, float] | None = None
    """When that was first so, in seconds of the clock and of the process's own work."""

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        pace_of(self._app).note(len(data.encode()), time.monotonic())
        if Sink.drawn is None and Sink.awaited(data):
            Sink.drawn = time.perf_counter(), time.process_time()


async def pressed(app: App[Any], view: TokenView, key: str, mark: str) -> tuple[float, float]:
    """Milliseconds from a key to the output that shows the cursor it moved: all, and the process's own work.

    `mark` is a pattern of how the terminal is told the cursor's style. Nothing else that is drawn counts,
    neither an older cursor's row nor a frame of the text after the key.
    """
    before = view.cursor
    return await drawn(
        lambda: app.post_message(Key(key, None)),
        lambda data: view.cursor != before and re.search(mark, data),
    )


async def drawn(do: Callable[[], object], is_shown: Callable[[str], object]) -> tuple[float, float]:
    """Milliseconds from doing something to the output that shows it: all, and the process's own work."""
    Sink.drawn, Sink.awaited = None, staticmethod(is_shown)
    began, worked = time.perf_counter(), time.process_time()
    do()
    while Sink.drawn is None:
        if time.perf_counter() - began > _PATIENCE:
            raise RuntimeError(f"nothing was drawn within {_PATIENCE:g} s")
        await asyncio.sleep(0.0005)
    shown, done = Sink.drawn
    return (shown - began) * 1000, (done - worked) * 1000


class Stage(App[None]):
    """One widget on an otherwise empty screen, and what is done with it."""

    def __init__(self, widget: Widget, job: Callable[[App[None]], Awaitable[None]]) -> None:
        super().__init__(driver_class=Sink)
        self.widget = widget
        self._job = job

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_ready(self) -> None:
        self.widget.focus()
        self.run_worker(self._perform())

    async def _perform(self) -> None:
        if isinstance(self.widget, TokenView):
            await settled(self.widget)
        gc.collect()
        await self._job(self)
        self.exit()


def perform(widget: Widget, job: Callable[[App[None]], Awaitable[None]]) -> None:
    """Do something with the widget in a running application."""
    app = Stage(widget, job)
    asyncio.run(app.run_async(headless=False, size=SIZE))
    if app.return_code:
        raise RuntimeError("the benchmark's application failed")


class Tokens:
    """An endless supply of tokens over a vocabulary of 5,000, a newline about every 40."""

    def __init__(self, alternatives: int = 0) -> None:
        self._random = random.Random(7)
        letters = "etaoinshrdlu"
        self._words = [
            " " + "".join(self._random.choices(letters, k=self._random.randint(1, 9))) for _ in range(5000)
        ]
        self._alternatives = alternatives

    def text(self) -> str:
        return "\n" if self._random.random() < 1 / 40 else self._random.choice(self._words)

    def piece(self) -> ReceivedToken:
        share = -3 * self._random.random()
        others = tuple(
            Alternative(self._random.choice(self._words), share - rank) for rank in range(self._alternatives)
        )
        return ReceivedToken(self.text(), share, others)

    def fill(self, choice: Choice, count: int) -> None:
        for _ in range(count):
            choice.append(self.piece(), 1.0)


async def settled(view: TokenView) -> None:
    """Wait until the rows are all laid out."""
    while not view.is_settled:  # noqa: ASYNC110
        await asyncio.sleep(FRAME)


def view_of(choice: Choice) -> TokenView:
    """A view of one choice."""
    view = TokenView()
    view.set_sections([Section("run", "title", "The prompt", choice, "figures")])
    return view


def filled(count: int, alternatives: int = 0) -> tuple[Tokens, Choice]:
    """A choice of so many tokens, and where more come from."""
    tokens, choice = Tokens(alternatives), Choice(0)
    tokens.fill(choice, count)
    return tokens, choice


def cpu_per_batch(widget: Widget, feed: Callable[[], object], batches: int = 60) -> float:
    """CPU milliseconds of the whole process for each batch, at 60 batches a second."""
    found: list[float] = []

    async def job(_: App[None]) -> None:
        for warm_up in (True, False):
            begin = time.process_time()
            for _number in range(5 if warm_up else batches):
                feed()
                await asyncio.sleep(FRAME)
            found.append((time.process_time() - begin) * 1000 / batches)

    perform(widget, job)
    return found[-1]


def view_cpu(count: int, rounds: int = ROUNDS) -> float:
    """CPU milliseconds per batch of a view that shows `count` tokens; the median of some rounds."""
    tokens, choice = filled(count)
    found = []
    for _ in range(rounds):
        view = view_of(choice)

        def feed(view: TokenView = view) -> None:
            tokens.fill(choice, BATCH)
            view.pull()

        found.append(cpu_per_batch(view, feed))
    return median(found)


def rich_log_cpu(count: int) -> float:
    """The same for `RichLog`, which gets a line a batch, as it cannot extend its last one."""
    tokens, log = Tokens(), RichLog(wrap=True)

    def feed() -> None:
        log.write(Text.assemble(*((tokens.text().strip("\n"), "red") for _ in range(BATCH))))

    for _ in range(count // BATCH):
        feed()
    return cpu_per_batch(log, feed)


def text_area_cpu(count: int) -> float:
    """The same for `TextArea`, without any colours."""
    tokens = Tokens()
    area = TextArea("".join(tokens.text() for _ in range(count)), read_only=True)

    def feed() -> None:
        area.insert("".join(tokens.text() for _ in range(BATCH)), area.document.end)
        area.scroll_end(animate=False)

    return cpu_per_batch(area, feed, 20)


class Lateness(NamedTuple):
    """How late a timer of 2 ms comes, in milliseconds, one value a tick."""

    wall: list[float]
    own: list[float]
    """The part of it that this process worked itself, whatever else the machine does."""


async def _lateness(seconds: float, during: Callable[[], object]) -> Lateness:
    """Watch the event loop while `during` is called at 60 Hz."""
    late = Lateness([], [])
    done = asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            begin, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.002)
            late.wall.append((time.perf_counter() - begin) * 1000 - 2)
            late.own.append((time.thread_time() - worked) * 1000)

    watching = asyncio.create_task(watch())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        during()
        await asyncio.sleep(FRAME)
    done.set()
    await watching
    return late


def _watched(view: TokenView, seconds: float, during: Callable[[], object]) -> Lateness:
    found: list[Lateness] = []

    async def job(_: App[None]) -> None:
        found.append(await _lateness(seconds, during))

    perform(view, job)
    return found[0]


def lateness_streaming(count: int = 100_000, seconds: float = 3.0) -> Lateness:
    """How late the event loop is while 2,000 tokens a second come."""
    tokens, choice = filled(count)
    view = view_of(choice)

    def feed() -> None:
        tokens.fill(choice, BATCH)
        view.pull()

    return _watched(view, seconds, feed)


def lateness_resizing(count: int = 100_000) -> Lateness:
    """How late the event loop is when the width changes five times."""
    view = view_of(filled(count)[1])
    widths = iter([90, 60, 118, 75, 120])
    calls = iter(range(100_000))

    def during() -> None:
        if next(calls) % 24 == 5 and (width := next(widths, None)) is not None:
            view.styles.width = width

    return _watched(view, 3.0, during)


def key_to_screen(count: int = 10_000, keys: int = 60) -> list[tuple[float, float]]:
    """Of each key the milliseconds to the cursor it moved, all and own, while 2,000 tokens/s come."""
    tokens, choice = filled(count)
    view = view_of(choice)
    found: list[tuple[float, float]] = []

    async def stream() -> None:
        while True:
            tokens.fill(choice, BATCH)
            view.pull()
            await asyncio.sleep(FRAME)

    async def job(app: App[None]) -> None:
        streaming = asyncio.create_task(stream())
        # From the last token there are tokens to the left.
        view.action_follow()
        pauses = random.Random(3)
        for _ in range(keys):
            await asyncio.sleep(0.03 + pauses.random() * 0.03)
            found.append(await pressed(app, view, "left", _CURSOR))
        streaming.cancel()

    perform(view, job)
    return found


def memory_per_token(count: int = 100_000, alternatives: int = 5) -> float:
    """Bytes a token that its store and the view of it take together."""
    view = TokenView()
    found: list[float] = []

    async def job(_: App[None]) -> None:
        tokens, choice = Tokens(alternatives), Choice(0)
        gc.collect()
        tracemalloc.start()
        tokens.fill(choice, count)
        view.set_sections([Section("run", "title", "The prompt", choice, "figures")])
        await settled(view)
        gc.collect()
        found.append(tracemalloc.get_traced_memory()[0] / count)
        tracemalloc.stop()

    perform(view, job)
    return found[0]


def figures() -> list[Figure]:
    """Every figure of the token view."""
    small, large, huge = view_cpu(1_000), view_cpu(100_000), view_cpu(1_000_000)
    peers = {"RichLog": rich_log_cpu(100_000), "TextArea": text_area_cpu(100_000)}
    late, resizing = lateness_streaming(), lateness_resizing()
    memory = memory_per_token()
    wall, own = (list(values) for values in zip(*key_to_screen(), strict=True))
    stall = "view: longest stall"
    key = "view: key to screen"
    at = "at 2,000 tokens/s"
    return [
        Figure("view: CPU per 60 Hz batch at 100,000 tokens", large, "ms", "≤ 8 ms", large <= 8, peers),
        Figure("view: CPU at 1,000,000 tokens ÷ at 1,000", huge / small, "×", "≤ 1.2×", huge <= 1.2 * small),
        latency(f"view: loop lateness p99 {at}", percentile(late.wall, 0.99), percentile(late.own, 0.99), 16),
        latency(f"{stall} {at}", max(late.wall), max(late.own), 50),
        latency(f"{stall} on resize at 100,000 tokens", max(resizing.wall), max(resizing.own), 50),
        latency(f"{key} p50 {at}", percentile(wall, 0.5), percentile(own, 0.5), 12),
        latency(f"{key} p90 {at}", percentile(wall, 0.9), percentile(own, 0.9), 30),
        Figure("view: memory per token, 5 alternatives", memory, "bytes", "≤ 150 bytes", memory <= 150),
    ]
