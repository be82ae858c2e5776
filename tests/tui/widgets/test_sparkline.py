"""The row of bars over a choice's surprisal."""

from math import nan

from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from workbench.domain.choice import Choice, ReceivedToken
from workbench.tui.main.sparkline import Peaks, Sparkline, edges_of


def choice_of(*logprobs: float | None) -> Choice:
    choice = Choice(0)
    for logprob in logprobs:
        choice.append(ReceivedToken("x", logprob), 0.1)
    return choice


class BarsApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.bars = Sparkline()
        self.jumps: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.bars

    def on_sparkline_jumped(self, message: Sparkline.Jumped) -> None:
        self.jumps.append(message.position)


async def test_a_few_tokens_have_a_bar_each() -> None:
    app = BarsApp()
    async with app.run_test(size=(20, 3)):
        app.bars.show(choice_of(-0.01, -2.4, -9.0, None, -0.7), 2)
        line = app.bars.render_line(0)
        assert line.text == "▁▅█ ▂".ljust(20)
        marked = [segment.text for segment in line if segment.style and segment.style.reverse]
        assert marked == ["█"]


async def test_many_tokens_share_bars_and_a_click_goes_to_the_most_surprising_one() -> None:
    app = BarsApp()
    async with app.run_test(size=(10, 3)) as pilot:
        choice = choice_of(*[-0.1] * 1000)
        choice.replace([ReceivedToken("x", -8.0 if at == 777 else -0.1) for at in range(1000)], [0.0] * 1000)
        app.bars.show(choice)
        assert app.bars.render_line(0).text == "▁▁▁▁▁▁▁█▁▁"
        await pilot.click(Sparkline, offset=(7, 0))
        assert app.jumps == [777]


async def test_bars_grow_with_the_choice() -> None:
    app = BarsApp()
    async with app.run_test(size=(10, 3)):
        choice = choice_of(-0.1)
        app.bars.show(choice)
        choice.append(ReceivedToken("y", -9.0), 0.2)
        app.bars.show(choice)
        assert app.bars.render_line(0).text.rstrip() == "▁█"
        app.bars.show(None)
        assert not app.bars.render_line(0).text.strip()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3000), st.integers(1, 12), st.integers(0, 2999))
def test_blocks_never_lose_the_highest_peak(count: int, columns: int, at: int) -> None:
    choice = choice_of(*(-7.0 if index == at else -0.5 for index in range(count)))
    peaks = Peaks(choice)
    peaks.pull()
    over = peaks.over(columns)
    assert len(over) == min(columns, count)
    assert max(over, default=nan) == (7.0 if at < count else 0.5) or not count


def test_columns_cover_every_token_once() -> None:
    assert edges_of(10, 4) == [0, 2, 5, 7, 10]
    assert edges_of(2, 4) == [0, 1, 2]
    assert edges_of(0, 4) == [0]
