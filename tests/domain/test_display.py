"""Text from outside, made safe for a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.display import (
    escape_character,
    is_control,
    one_line,
    percent,
    plural,
    show_bytes,
    show_exit,
    show_seconds,
    visible,
)
from workbench.domain.errors import StorageError

anything = st.text(st.characters(exclude_categories=()))
DANGEROUS = {"Cc", "Cs", "Zl", "Zp"}


@given(anything)
def test_nothing_visible_makes_a_terminal_act(text: str) -> None:
    shown = visible(text)
    assert not [sign for sign in shown if unicodedata.category(sign) in DANGEROUS and sign not in "\n\t"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


@given(anything)
def test_making_visible_twice_changes_nothing_more(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("character", "shown"),
    [("\x1b", "\\e"), ("\r", "\\r"), ("\x9b", "\\x9b"), ("\u202e", "\\u202e"), ("\U000e0001", "\\U000e0001")],
)
def test_a_control_character_shows_as_its_escape(character: str, shown: str) -> None:
    assert is_control(character)
    assert escape_character(character) == shown
    assert visible(f"a{character}b") == f"a{shown}b"


def test_letters_blanks_line_ends_and_tabs_stay() -> None:
    text = "naïve 漢字 [red]\n\tx"
    assert visible(text) == text


def test_a_joiner_stays_where_it_joins_and_shows_elsewhere() -> None:
    assert visible("👩\u200d🚀") == "👩\u200d🚀"
    assert visible("a\u200db") == "a\\u200db"
    assert visible("\u200d") == "\\u200d"


@given(anything, st.integers(1, 40))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


def test_bytes_show_as_hex() -> None:
    assert show_bytes(b"\xe2\x80") == "\\xe2\\x80"


def test_a_number_of_things_is_in_the_singular_only_for_one() -> None:
    counts = [plural(count, "token") for count in (0, 1, 2, 12_345)]
    assert counts == ["0 tokens", "1 token", "2 tokens", "12,345 tokens"]
    assert [plural(2, "branch"), plural(1, "branch")] == ["2 branches", "1 branch"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0101, "11 ms"),
        (1.0, "1 s"),
        (1.25, "1.2 s"),
        (12.1, "13 s"),
        (125, "2 min 5 s"),
        (3600, "1 h 0 min"),
        (86_400 + 4 * 3600, "1 d 4 h"),
        (1e12, "11,574,074 d 1 h"),
    ],
)
def test_a_time_to_wait_is_as_precise_as_a_person_needs(seconds: float, shown: str) -> None:
    assert show_seconds(seconds) == shown


def test_a_probability_is_nothing_or_certain_only_where_it_is() -> None:
    shown = [percent(probability) for probability in (0, 1e-9, 0.0007, 0.293, 0.9994, 0.99999, 1)]
    assert shown == ["0.0%", "<0.1%", "0.1%", "29.3%", "99.9%", ">99.9%", "100.0%"]


@given(anything)
def test_the_title_of_an_error_is_one_line_that_a_terminal_may_show(name: str) -> None:
    title = StorageError(f"{name} cannot be read").title
    assert title == visible(title)
    assert "\n" not in title


def test_the_end_of_a_process_is_named() -> None:
    assert [show_exit(code) for code in (3, -9, -99)] == ["exit status 3", "signal SIGKILL", "signal 99"]
