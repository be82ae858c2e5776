"""What streams is drawn 30 times a second, less often where its frames are large; keys are drawn at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import cycle, pairwise, repeat
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual._compositor import Compositor
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.widget import Widget

from tests.client.loopback import hanging, head
from tests.tui.scripted import logprob_event, until, workbench
from workbench.tui import motion
from workbench.tui.app import WorkbenchApp
from workbench.tui.motion import Frames, pace_of
from workbench.tui.painting import PaintUpdate, paint_directly
from workbench.tui.terminal import safe_driver
from workbench.workspace.services import Services


class Animated:
    """An application of Textual, as far as frames know it."""

    def __init__(self, animation_level: str) -> None:
        self.animation_level = animation_level


class Stage:
    """A widget whose timers fire when a test says so, by a clock that they and the test move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, animation_level: str = "full") -> None:
        self.app = cast(App[Any], Animated(animation_level))
        self.now = 100.0
        self.timers = list[tuple[float, Callable[[], None]]]()
        monkeypatch.setattr(motion, "monotonic", lambda: self.now)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Any:
        self.timers.append((self.now + delay, callback))
        return SimpleNamespace(stop=self.timers.clear)

    def fire(self) -> None:
        """Let the only timer fire."""
        ((due, callback),) = self.timers
        self.timers.clear()
        self.now = max(self.now, due)
        callback()


def pauses(stage: Stage, sizes: Iterator[int], count: int, work: float = 0.002) -> list[float]:
    """Seconds between frames of these sizes in bytes, each of which takes some work."""
    drawn = list[float]()

    def draw() -> None:
        drawn.append(stage.now)
        stage.now += work
        pace_of(stage.app).note(next(sizes), stage.now)

    stream = Frames(cast(Widget, stage), draw)
    stream.resume()
    for _ in range(count + 1):
        stage.fire()
    stream.pause()
    return [after - before for before, after in pairwise(drawn)]


def test_small_frames_follow_each_other_thirty_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses(Stage(monkeypatch), repeat(1_500), 30) == pytest.approx([1 / 30] * 30)


@pytest.mark.parametrize("size", [12_000, 15_000, 40_000])
def test_large_frames_are_300_kb_a_second_at_even_pauses(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    found = pauses(Stage(monkeypatch), repeat(size), 100)
    assert found[50:] == pytest.approx([size / 300_000] * 50)


def test_a_large_frame_now_and_then_delays_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = cycle([15_000, *[1_500] * 7])
    assert pauses(Stage(monkeypatch), sizes, 80) == pytest.approx([1 / 30] * 80)


def test_frames_that_are_late_leave_half_of_the_time_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses(Stage(monkeypatch), repeat(1_500), 30, work=0.05) == pytest.approx([1 / 60 + 0.05] * 30)


def test_reduced_motion_draws_three_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses(Stage(monkeypatch, "none"), repeat(15_000), 10) == pytest.approx([1 / 3] * 10)


def test_no_frame_is_drawn_after_a_pause_and_one_at_a_time_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, drawn = Stage(monkeypatch), list[float]()
    stream = Frames(cast(Widget, stage), lambda: drawn.append(stage.now))
    stream.resume()
    ((_, on_its_way),) = stage.timers
    stream.pause()
    on_its_way()
    assert not drawn and not stage.timers
    stream.resume()
    on_its_way()
    stage.fire()
    assert len(drawn) == 2 and len(stage.timers) == 1


async def test_what_is_written_to_the_terminal_counts_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    app = WorkbenchApp(Services.open(dict(os.environ)))
    written = list[str]()
    monkeypatch.setattr(LinuxDriver, "write", lambda _, data: written.append(data))
    driver = safe_driver(LinuxDriver)(app)
    before = pace_of(app).next_frame
    driver.write("─" * 1_000_000)
    assert written == ["─" * 1_000_000]
    assert pace_of(app).next_frame - before > 9


async def test_a_key_is_drawn_at_once_where_frames_have_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    painted = list[str]()
    paint_directly()
    paint = Compositor.render_partial_update

    def note_painted(self: Compositor) -> Any:
        update = paint(self)
        if isinstance(update, PaintUpdate):
            painted.extend(strip.text for _, strips in update.painted for strip in strips)
        return update

    async with workbench(hanging(head() + logprob_event(" marvel"))) as (app, pilot, _):
        monkeypatch.setattr(Compositor, "render_partial_update", note_painted)
        pace_of(app).note(100 * 300_000, time.monotonic())
        await pilot.press("f5")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 1)
        for typed in ("Ā", "Ē", "Ī", "Ō"):
            await pilot.press(typed)
            await until(pilot, lambda typed=typed: any(typed in row for row in painted))  # type: ignore[misc]
        assert not any("marvel" in row for row in painted)
        await pilot.press("escape")
        await until(pilot, lambda: any("marvel" in row for row in painted))


def test_an_application_of_any_kind_has_a_single_pace_for_its_driver_and_frames() -> None:
    app, other = App[None](), App[None]()
    pace_of(app).note(300_000, 100.0)
    assert pace_of(app).next_frame > 100
    assert pace_of(other).next_frame < 100
