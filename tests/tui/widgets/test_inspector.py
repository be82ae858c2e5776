"""The inspector and its one-row sister tell the truth about a token."""

from __future__ import annotations

from math import fsum, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tests.domain.builders import choice_of
from tests.tui.scripted import until
from workbench.domain.alternatives import rows_of
from workbench.domain.choice import Alternative, Rank, ReceivedToken, Token
from workbench.domain.display import is_control, token_text
from workbench.domain.scoring import Passage, SecondScoring
from workbench.domain.what_if import Sampling
from workbench.tui.fixed_width import fit, percent
from workbench.tui.main.inspector import Inspector, TokenStrip

CAME = Token(
    1,
    4,
    " came",
    log(0.3),
    0.2,
    2422,
    None,
    (Alternative(" came", log(0.3)), Alternative(" into", log(0.2))),
    Rank(1, True),
)


class Alone(App[None]):
    """Inspector and strip by themselves."""

    CSS = "Inspector { width: 32; height: 30; border: round white; }"

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        yield Inspector()
        yield TokenStrip()

    def on_inspector_alternative_chosen(self, event: Inspector.AlternativeChosen) -> None:
        self.chosen.append(event.position)

    @property
    def inspector(self) -> Inspector:
        return self.query_one(Inspector)

    @property
    def shown(self) -> list[str]:
        strips = self.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).strip("│ ") for strip in strips]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.shown).split())


def token(
    text: str,
    probability: float | None,
    *listed: Alternative,
    id: int | None = None,
    raw: bytes | None = None,
) -> Token:
    return Token(0, 0, text, None if probability is None else log(probability), 0, id, raw, listed)


# --- rows ------------------------------------------------------------------------------------------------

shares = st.lists(st.floats(0.0001, 1), min_size=1, max_size=8)


@given(shares, st.floats(0.0001, 1), st.booleans())
def test_shares_always_sum_to_one(listed: list[float], own: float, is_listed: bool) -> None:
    alternatives = [Alternative(str(index), log(probability)) for index, probability in enumerate(listed)]
    rows = rows_of(token("0" if is_listed else "unlisted", own, *alternatives))
    assert fsum(row.mass for row in rows if row.mass is not None) == pytest.approx(1)
    assert sum(row.is_chosen for row in rows) == 1


def test_the_rest_is_named_and_cannot_be_branched_to() -> None:
    *_, remaining = rows_of(CAME)
    assert (remaining.label, remaining.position) == ("(other)", None)
    assert remaining.mass == pytest.approx(0.5)


def test_a_chosen_token_outside_the_listed_ones_is_marked() -> None:
    rows = rows_of(token("c", 0.1, Alternative("a", log(0.5)), Alternative("b", log(0.2))))
    assert [(row.label, row.is_chosen, row.note) for row in rows][2:] == [
        ("c", True, "not listed"),
        ("(other)", False, ""),
    ]


def test_a_chosen_token_listed_beside_the_most_likely_ones_is_no_alternative() -> None:
    listed = (Alternative("a", log(0.5)), Alternative("b", log(0.2)), Alternative("c", log(0.01)))
    rows = rows_of(token("c", 0.01, *listed)._replace(rank=Rank(3, False)))
    assert [(row.label, row.position, row.is_chosen, row.note) for row in rows] == [
        ("a", 0, False, ""),
        ("b", 1, False, ""),
        ("c", None, True, "not among the top 2"),
        ("(other)", None, False, ""),
    ]


async def test_a_rank_that_is_not_known_is_shown_as_a_bound() -> None:
    app = Alone()
    async with app.run_test(size=(60, 40)) as pilot:
        app.inspector.show(CAME._replace(rank=Rank(6, False)), 110)
        await pilot.pause()
        assert any(line.endswith("rank > 5") for line in app.shown)


def test_rows_of_the_same_text_are_marked_and_the_id_tells_the_chosen_one() -> None:
    listed = (Alternative("a", log(0.5), 1), Alternative("a", log(0.2), 2))
    rows = rows_of(token("a", 0.2, *listed, id=2))
    assert [row.note for row in rows[:2]] == ["same text, another token"] * 2
    assert [row.is_chosen for row in rows[:2]] == [False, True]


def test_a_text_that_is_not_its_bytes_is_marked() -> None:
    (row, _) = rows_of(token("�", 0.5, Alternative("x", log(0.5), None, b"y")))[:2]
    assert row.note == "text is not its bytes"


def test_an_alternative_without_a_number_keeps_its_row() -> None:
    rows = rows_of(token("a", 0.5, Alternative("b", None)))
    assert [row.mass for row in rows] == pytest.approx([None, 0.5, 0.5])


@pytest.mark.parametrize(
    ("text", "raw", "shown"),
    [(" a\n\t", None, "·a⏎→"), ("\x1b[", None, "\\e["), ("", b"\xe2\x80", "\\xe2\\x80"), ("", None, "∅")],
)
def test_a_tokens_blanks_controls_and_bytes_are_visible(text: str, raw: bytes | None, shown: str) -> None:
    assert token_text(text, raw) == shown


@given(st.text(), st.integers(0, 20))
def test_a_fitted_text_has_exactly_its_width(text: str, width: int) -> None:
    assert cell_len(fit(token_text(text), width)) == width


@pytest.mark.parametrize(
    ("probability", "shown"),
    [(0.293, " 29.3%"), (1, "100.0%"), (0, "  0.0%"), (1e-5, " <0.1%"), (0.99999, ">99.9%")],
)
def test_a_percentage_never_rounds_to_certainty(probability: float, shown: str) -> None:
    assert percent(probability) == shown


# --- on screen -------------------------------------------------------------------------------------------


async def test_the_token_and_its_figures_are_shown() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(CAME, 110)
        await pilot.pause()
        for fact in (
            "·came token 2/110 id 2422",
            "5 bytes",
            "p 30.0% logprob -1.204 surprisal 1.20 nats rank 1",
            "2 listed cover 50.0%",
        ):
            assert fact in app.words


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (True, "raw model probabilities"),
        (False, "probabilities after sampling"),
        (None, "unknown whether raw or post-sampling"),
    ],
)
async def test_it_says_whether_probabilities_are_raw(raw: bool | None, expected: str) -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.set_raw(raw)
        app.inspector.show(CAME)
        await pilot.pause()
        assert expected in app.words


async def test_arrows_and_enter_or_a_digit_choose_an_alternative() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(CAME)
        app.inspector.focus()
        await pilot.press("down", "enter", "1", "9")
        assert app.chosen == [1, 0]


async def test_the_rest_is_not_taken_by_enter() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(CAME)
        app.inspector.focus()
        await pilot.press("down", "down", "down", "enter")
        assert app.chosen == []


async def test_rows_below_the_pane_are_scrolled_to() -> None:
    app = Alone()
    listed = tuple(Alternative(f" w{number:02}", log(0.02)) for number in range(40))

    def is_current(text: str) -> bool:
        return any("▸" in line and text in line for line in app.shown)

    async with app.run_test(size=(50, 40)) as pilot:
        app.inspector.show(CAME._replace(text=" w39", alternatives=listed, rank=None))
        app.inspector.focus()
        await until(pilot, lambda: is_current("·w39"))
        app.inspector.show(CAME._replace(text=" w00", alternatives=listed, rank=None))
        await until(pilot, lambda: app.shown[1].startswith("·w00  token 2"))
        await pilot.press(*["down"] * 36)
        await until(pilot, lambda: is_current("·w36"))
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: app.shown[1].startswith("·w00  token 2"))
        await pilot.press("pagedown")
        await until(pilot, lambda: any("·w30" in line for line in app.shown))
        y = next(y for y, line in enumerate(app.shown) if "·w30" in line)
        await pilot.click(Inspector, offset=(10, y))
        await until(pilot, lambda: is_current("·w30"))
        app.inspector.show(CAME)
        await until(pilot, lambda: "·came" in app.shown[1])


async def test_two_clicks_take_a_row() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(CAME)
        await pilot.pause()
        row = next(at for at, line in enumerate(app.shown) if "·into" in line)
        await pilot.click(offset=(6, row), times=2)
        assert app.chosen == [1]


async def test_what_if_shows_what_the_parameters_cut() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.set_raw(True)
        app.inspector.set_sampling(Sampling(temperature=0.5, top_k=1))
        app.inspector.show(CAME)
        await pilot.pause()
        assert "what if top_k 1 → temperature 0.5" in app.words
        assert "1 of 2 kept, in llama.cpp's order" in app.words
        assert "30.0% →100%" in app.words
        assert "20.0% → out" in app.words
        assert "50.0% → 0%" not in app.words
        app.inspector.set_sampling(Sampling(temperature=0.5), ("temperature", "top_k"))
        await pilot.pause()
        assert "2 of 2 kept" in app.words
        assert "order" not in app.words


async def test_what_if_needs_raw_probabilities() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.set_raw(None)
        app.inspector.set_sampling(Sampling(temperature=0.5))
        app.inspector.show(CAME)
        await pilot.pause()
        assert "what if: needs raw logprobs" in app.words


async def test_a_token_of_the_prompt_is_called_one() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(CAME, 5, echoed=2)
        await pilot.pause()
        assert "prompt token 2/5" in app.words
        app.inspector.show(CAME, 5, echoed=1)
        await pilot.pause()
        assert "prompt token" not in app.words


async def test_both_surprisals_are_told_of_the_span_that_the_other_model_does_not_divide() -> None:
    own = choice_of([ReceivedToken("Once", -2.0), ReceivedToken(" c", -1.0), ReceivedToken("ame", -0.25)])
    listed = (Alternative(" into", log(0.5)), Alternative(" came", -3.0))
    other = choice_of([ReceivedToken("Once"), ReceivedToken(" came", -3.0, listed)])
    second = SecondScoring.of(Passage.answer_of(own), Passage.answer_of(other), "[b]\x1b")
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(own.token(2), 3, second=second)
        await pilot.pause()
        assert "these 2 tokens: own 1.25 [b]\\e 3.00 nats difference +1.75" in app.words
        assert "[b]\\e's top choice ·into 50.0%" in app.words
        app.inspector.show(own.token(0), 3, second=second)
        await pilot.pause()
        assert "own 2.00 [b]\\e — nats" in app.words
        assert "difference" not in app.words
        assert "top choice" not in app.words


@pytest.mark.parametrize(
    "hostile", [token("[/b]\x1b[31m\u202e", 0.5, Alternative("[red]", log(0.5))), token("a", None), None]
)
async def test_hostile_and_empty_tokens_do_no_harm(hostile: Token | None) -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.inspector.show(hostile)
        app.query_one(TokenStrip).show(hostile)
        await pilot.pause()
        assert not [character for line in app.shown for character in line if is_control(character)]


async def test_the_strip_shows_100_percent_only_for_certainty() -> None:
    app = Alone()
    token = CAME._replace(logprob=log(0.997), alternatives=(Alternative(" came", log(0.997)),))
    async with app.run_test(size=(50, 40)) as pilot:
        app.query_one(TokenStrip).show(token)
        await pilot.pause()
        assert app.shown[30] == "·came >99%  rank 1 │ (other) <1%"


async def test_the_strip_shows_what_fits_in_one_row() -> None:
    app = Alone()
    async with app.run_test(size=(50, 40)) as pilot:
        await pilot.pause()
        assert app.shown[30] == "Press ← or → to select a token"
        app.query_one(TokenStrip).show(CAME)
        await pilot.pause()
        assert app.shown[30] == "·came 30%  rank 1 │ 2 ·into 20%  (other) 50%"
        await pilot.resize_terminal(40, 40)
        assert app.shown[30] == "·came 30%  rank 1 │ 2 ·into 20%"
