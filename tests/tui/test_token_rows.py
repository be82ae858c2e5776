"""The soft wrap: resumable, cell-exact, and safe with whatever text comes."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from workbench.tui.tokens.token_rows import (
    CONTROL,
    NEWLINE,
    TAB,
    Rows,
    _wrap_clusters,
    clusters,
    is_narrow,
    offset_at,
    row_cells,
    row_starts,
)
from workbench.tui.tokens.transcript import Body

PIECES = st.sampled_from(
    [
        *[
            "a",
            "bb",
            " ",
            "  ",
            "ccc ",
            "日本",
            " x",
            "longwordlongword",
            "é",
            "e\u0301",
            "\u0301",
            "\t",
            "\n",
        ],
        *[
            "👩",
            "\u200d",
            "🚀",
            "👩\u200d🚀",
            "❤",
            "\ufe0f",
            "\x1b[31m",
            "\u202e",
            "\r\n",
            "🇩",
            "🇪",
            "👍🏽",
            "\ud800",
        ],
        *["한", "ᄒ", "ᅡ", "ᆫ", "\u200b", "क्षि", "ا", "\x9b", "\ufeff", "word, ", "- "],
    ]
)
TEXTS = st.lists(PIECES, max_size=60)


class Growing:
    """A text that is appended to."""

    def __init__(self) -> None:
        self.text = ""

    @property
    def length(self) -> int:
        return len(self.text)

    def slice(self, start: int, stop: int) -> str:
        return self.text[start:stop]


@settings(max_examples=600, deadline=None)
@given(TEXTS, st.sampled_from([2, 4, 5, 8, 12, 20, 80]))
@example(["👩", "👩", "\u200d", "🚀"], 5)
@example(["ab cd", " ", "\u0301"], 6)
@example([" ", "e\u0301", "\u200d", "👩"], 4)
def test_rows_wrapped_piece_by_piece_are_the_rows_of_the_whole_text(pieces: list[str], width: int) -> None:
    source, rows = Growing(), Rows(width)
    for chunk in pieces:
        source.text += chunk
        rows.advance(source, 1)
    assert list(rows.starts) == row_starts(source.text, width)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_clusters_cover_the_text_and_hold_no_control_character_outside_of_escapes(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = clusters(text)
    assert "".join(text[cluster.start : cluster.end] for cluster in found) == text
    for cluster in found:
        if cluster.kind not in (CONTROL, TAB, NEWLINE):
            assert cluster.cells == cell_len(text[cluster.start : cluster.end]) >= 1


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from([12, 20, 80]))
def test_no_row_is_wider_than_the_screen(pieces: list[str], width: int) -> None:
    text = "".join(pieces)
    starts = row_starts(text, width)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        assert row_cells(text[start:end], width) <= width


def test_every_narrow_character_is_a_cluster_of_one_cell_wherever_it_stands() -> None:
    narrow = [chr(code) for code in range(0x3000) if is_narrow(chr(code))]
    assert {"a", " ", "é", "“", "—", "▸", "─"} <= set(narrow)
    for character in narrow:
        for text in (character, f"a{character}", f"{character}a"):
            assert [cluster.cells for cluster in clusters(text)] == [1] * len(text)


@given(st.text(st.sampled_from("a b“—é─ ▸"), max_size=60), st.sampled_from([5, 12, 20]))
def test_narrow_text_wraps_as_any_other(text: str, width: int) -> None:
    starts = [0]
    _wrap_clusters(text, width, 0, starts)
    assert row_starts(text, width) == starts


def test_words_stay_whole_and_take_their_space_along() -> None:
    assert row_starts("the quick brown fox", 10) == [0, 10]
    assert row_starts("abcdefghi abcdefghi ", 10) == [0, 10]


def test_a_word_longer_than_a_row_is_cut() -> None:
    assert row_starts("x" * 25, 11) == [0, 10, 20]


def test_a_megabyte_without_a_newline_wraps_in_steps() -> None:
    source, rows = Body("lorem ipsum dolor " * 60_000), Rows(80)
    steps = 0
    while not rows.advance(source, 50_000):
        steps += 1
    assert steps > 10
    assert list(rows.starts) == row_starts(source.prompt, 80)


def test_a_pile_of_marks_is_cut_and_its_rest_shown_as_escapes() -> None:
    found = clusters("e" + "\u0301" * 40)
    assert found[0].end == 16
    assert all(cluster.kind == CONTROL for cluster in found[1:])


def test_a_family_is_one_character_and_a_joiner_that_joins_nothing_is_an_escape() -> None:
    assert [cluster[:3] for cluster in clusters("👩\u200d👩\u200d👧")] == [(0, 5, 2)]
    assert [cluster.kind == CONTROL for cluster in clusters("👩\u200d\u202e")] == [False, True, True]


def test_columns_lead_back_to_characters_beyond_tabs_and_wide_ones() -> None:
    assert [offset_at("a\tb日c", column, 20) for column in (0, 1, 3, 4, 5, 6, 7, 30)] == [
        0,
        1,
        1,
        2,
        3,
        3,
        4,
        4,
    ]


def test_assumed_rows_lead_up_to_wrapped_ones() -> None:
    source, rows = Body("word " * 1000), Rows(21)
    rows.assume(2500)
    assert rows.starts[-1] == 2500
    rows.advance(source, 10)
    assert sorted(rows.starts) == list(rows.starts)
    assert rows.wrapped == source.length


def test_rows_assumed_before_the_very_beginning_are_none() -> None:
    assumed, whole = Rows(10), Rows(10)
    assumed.assume(0)
    text = Body("one two three four five")
    assert assumed.advance(text, text.length)
    assert whole.advance(text, text.length)
    assert assumed.starts == whole.starts
