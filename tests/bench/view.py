"""The token view beside other text widgets: cost per batch, stalls, time from key to screen, memory.

Everything is drawn by a real Textual application whose terminal swallows the output, so that making the
escape sequences counts too.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from rich.text import Text
from textual.app import App, ComposeResult
from textual.drivers.headless_driver import HeadlessDriver
from textual.events import Key
from textual.widget import Widget
from textual.widgets import RichLog, TextArea

from tests.bench.figure import Figure, median, percentile
from workbench.domain.choice import Alternative, Choice, Piece
from workbench.tui.transcript import Section
from workbench.tui.widgets.token_view import TokenView

BATCH = 33
"""Tokens of one frame: 2,000 a second at 60 Hz."""
FRAME = 1 / 60
SIZE = (120, 40)
ROUNDS = 5


class Sink(HeadlessDriver):
    """A terminal that takes what is drawn and shows it to nobody."""

    written = 0

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        Sink.written += len(data)


class Stage(App[None]):
    """One widget on an otherwise empty screen."""

    def __init__(self, widget: Widget) -> None:
        super().__init__(driver_class=Sink)
        self.widget = widget
        self.is_shown = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_ready(self) -> None:
        self.widget.focus()
        self.is_shown.set()


@asynccontextmanager
async def staged(widget: Widget) -> AsyncIterator[Stage]:
    """The widget in a running application."""
    app = Stage(widget)
    running = asyncio.create_task(app.run_async(headless=False, size=SIZE))
    await app.is_shown.wait()
    try:
        yield app
    finally:
        app.exit()
        await running


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

    def piece(self) -> Piece:
        share = -3 * self._random.random()
        others = tuple(
            Alternative(self._random.choice(self._words), share - rank) for rank in range(self._alternatives)
        )
        return Piece(self.text(), share, others)

    def fill(self, choice: Choice, count: int) -> None:
        for _ in range(count):
            choice.append(self.piece(), 1.0)


async def settled(view: TokenView) -> None:
    """Wait until the rows are all laid out."""
    while not view.is_settled:  # noqa: ASYNC110
        await asyncio.sleep(FRAME)


async def cpu_per_batch(widget: Widget, feed: Callable[[], object], batches: int = 60) -> float:
    """CPU milliseconds of the whole process for each batch, at 60 batches a second."""
    async with staged(widget):
        if isinstance(widget, TokenView):
            await settled(widget)
        for _ in range(5):
            feed()
            await asyncio.sleep(FRAME)
        gc.collect()
        begin = time.process_time()
        for _ in range(batches):
            feed()
            await asyncio.sleep(FRAME)
        return (time.process_time() - begin) * 1000 / batches


def view_cpu(count: int, rounds: int = ROUNDS) -> float:
    """CPU milliseconds per batch of a view that shows `count` tokens; the median of some rounds."""
    tokens, choice = Tokens(), Choice(0)
    tokens.fill(choice, count)
    found = []
    for _ in range(rounds):
        view = TokenView()
        view.set_sections([Section("run", "title", "The prompt", choice, "figures")])

        def feed(view: TokenView = view) -> None:
            tokens.fill(choice, BATCH)
            view.pull()

        found.append(asyncio.run(cpu_per_batch(view, feed)))
    return median(found)


def rich_log_cpu(count: int) -> float:
    """The same for `RichLog`, which gets a line a batch, as it cannot extend its last one."""
    tokens, log = Tokens(), RichLog(wrap=True)

    def line() -> Text:
        return Text.assemble(*((tokens.text().strip("\n"), "red") for _ in range(BATCH)))

    async def measured() -> float:
        for _ in range(count // BATCH):
            log.write(line())
        return await cpu_per_batch(log, lambda: log.write(line()))

    return asyncio.run(measured())


def text_area_cpu(count: int) -> float:
    """The same for `TextArea`, without any colours."""
    tokens = Tokens()
    area = TextArea("".join(tokens.text() for _ in range(count)), read_only=True)

    def feed() -> None:
        area.insert("".join(tokens.text() for _ in range(BATCH)), area.document.end)
        area.scroll_end(animate=False)

    return asyncio.run(cpu_per_batch(area, feed, 20))


async def _lateness(seconds: float, during: Callable[[], object]) -> list[float]:
    """Milliseconds by which a timer of 2 ms comes late while `during` is called at 60 Hz."""
    late: list[float] = []
    done = asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            due = time.perf_counter() + 0.002
            await asyncio.sleep(0.002)
            late.append((time.perf_counter() - due) * 1000)

    watching = asyncio.create_task(watch())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        during()
        await asyncio.sleep(FRAME)
    done.set()
    await watching
    return late


def lateness_streaming(count: int = 100_000, seconds: float = 3.0) -> list[float]:
    """How late the event loop is while 2,000 tokens a second come."""
    tokens, choice = Tokens(), Choice(0)
    tokens.fill(choice, count)
    view = TokenView()
    view.set_sections([Section("run", "title", "The prompt", choice, "figures")])

    def feed() -> None:
        tokens.fill(choice, BATCH)
        view.pull()

    async def measured() -> list[float]:
        async with staged(view):
            await settled(view)
            gc.collect()
            return await _lateness(seconds, feed)

    return asyncio.run(measured())


def stall_on_resize(count: int = 100_000) -> float:
    """The longest that the event loop is held up, in milliseconds, when the width changes five times."""
    tokens, choice = Tokens(), Choice(0)
    tokens.fill(choice, count)
    view = TokenView()
    view.set_sections([Section("run", "title", "The prompt", choice, "figures")])
    widths = iter([90, 60, 118, 75, 120])
    calls = iter(range(100_000))

    def during() -> None:
        if next(calls) % 24 == 5 and (width := next(widths, None)) is not None:
            view.styles.width = width

    async def measured() -> list[float]:
        async with staged(view):
            await settled(view)
            gc.collect()
            return await _lateness(3.0, during)

    return max(asyncio.run(measured()))


def key_to_screen(count: int = 10_000, keys: int = 60) -> list[float]:
    """Milliseconds from a key to the first output after it that shows the moved cursor, while tokens come."""
    tokens, choice = Tokens(), Choice(0)
    tokens.fill(choice, count)
    view = TokenView()
    view.set_sections([Section("run", "title", "The prompt", choice, "figures")])
    found: list[float] = []

    async def stream() -> None:
        while True:
            tokens.fill(choice, BATCH)
            view.pull()
            await asyncio.sleep(FRAME)

    async def press(app: Stage, pause: float) -> None:
        await asyncio.sleep(pause)
        before, begin = view.cursor, time.perf_counter()
        app.post_message(Key("left", None))
        while view.cursor == before:  # noqa: ASYNC110
            await asyncio.sleep(0)
        written = Sink.written
        while Sink.written == written:  # noqa: ASYNC110
            await asyncio.sleep(0.0005)
        found.append((time.perf_counter() - begin) * 1000)

    async def measured() -> None:
        async with staged(view) as app:
            streaming = asyncio.create_task(stream())
            pauses = random.Random(3)
            for _ in range(keys):
                await press(app, 0.03 + pauses.random() * 0.03)
            streaming.cancel()

    asyncio.run(measured())
    return found


def memory_per_token(count: int = 100_000, alternatives: int = 5) -> float:
    """Bytes a token that its store and the view of it take together."""
    tokens = Tokens(alternatives)
    choice, view = Choice(0), TokenView()

    async def measured() -> int:
        async with staged(view):
            gc.collect()
            tracemalloc.start()
            tokens.fill(choice, count)
            view.set_sections([Section("run", "title", "The prompt", choice, "figures")])
            await settled(view)
            gc.collect()
            size, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return size

    return asyncio.run(measured()) / count


def figures() -> list[Figure]:
    """Every figure of the token view."""
    small, large, huge = view_cpu(1_000), view_cpu(100_000), view_cpu(1_000_000)
    peers = {"RichLog": rich_log_cpu(100_000), "TextArea": text_area_cpu(100_000)}
    late = lateness_streaming()
    p99, worst = percentile(late, 0.99), max(late)
    stall, memory = stall_on_resize(), memory_per_token()
    keys = key_to_screen()
    p50, p90 = percentile(keys, 0.5), percentile(keys, 0.9)
    return [
        Figure("view: CPU per 60 Hz batch at 100,000 tokens", large, "ms", "≤ 8 ms", large <= 8, peers),
        Figure("view: CPU at 1,000,000 tokens ÷ at 1,000", huge / small, "×", "≤ 1.2×", huge <= 1.2 * small),
        Figure("view: loop lateness p99 at 2,000 tokens/s", p99, "ms", "≤ 16 ms", p99 <= 16),
        Figure("view: longest stall at 2,000 tokens/s", worst, "ms", "≤ 50 ms", worst <= 50),
        Figure("view: longest stall on resize at 100,000 tokens", stall, "ms", "≤ 50 ms", stall <= 50),
        Figure("view: key to screen p50 at 2,000 tokens/s", p50, "ms", "≤ 12 ms", p50 <= 12),
        Figure("view: key to screen p90 at 2,000 tokens/s", p90, "ms", "≤ 30 ms", p90 <= 30),
        Figure("view: memory per token, 5 alternatives", memory, "bytes", "≤ 150 bytes", memory <= 150),
    ]
