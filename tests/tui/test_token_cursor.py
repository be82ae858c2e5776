"""Where a token cursor goes, what a search finds and what a selection covers: of a transcript alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.selection import Selection

from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.notable_tokens import Thresholds
from workbench.tui.tokens import token_cursor
from workbench.tui.tokens.selection import select_tokens, selected_span, selected_text
from workbench.tui.tokens.text_search import Search
from workbench.tui.tokens.token_cursor import Cursor
from workbench.tui.tokens.transcript import BODY, Section, Transcript

WIDTH = 12


def transcript_of(*answers: Sequence[str], prompt: str = "", surprisal: float = 0.1) -> Transcript:
    """A transcript of answers, keyed 0, 1 and so on; the last token of each is a surprising one."""
    transcript, sections = Transcript(), []
    transcript.resize(WIDTH, None, 1.0, 1000)
    for key, texts in enumerate(answers):
        choice = Choice(0)
        for index, text in enumerate(texts):
            choice.append(ReceivedToken(text, -9.0 if index == len(texts) - 1 else -surprisal), 0.0)
        sections.append(Section(str(key), "title", prompt, choice))
    transcript.put(0, sections, 1.0, 1000)
    transcript.pull()
    return transcript


def test_a_token_is_found_by_its_section_and_position() -> None:
    transcript = transcript_of(["a", "b"], ["c"])
    assert token_cursor.at(transcript, "1", 0) == Cursor(1, 0)
    for key, position in (("1", 1), ("0", -1), ("2", 0)):
        with pytest.raises(KeyError):
            token_cursor.at(transcript, key, position)


def test_going_token_by_token_crosses_sections_and_skips_empty_ones() -> None:
    transcript = transcript_of(["a", "b"], [], ["c"])
    cursor = token_cursor.first(transcript)
    went = []
    while cursor is not None:
        went.append(cursor)
        cursor = token_cursor.seek(transcript, cursor, 1, token_cursor.adjacent)
    assert went == [(0, 0), (0, 1), (2, 0)]
    assert went[-1] == token_cursor.last(transcript)
    assert token_cursor.seek(transcript, went[-1], -1, token_cursor.adjacent) == (0, 1)
    assert token_cursor.seek(transcript, went[0], -1, token_cursor.adjacent) is None


def test_going_line_by_line_holds_the_column_and_passes_over_rows_without_tokens() -> None:
    transcript = transcript_of(["one ", "two ", "\n", "ab", "cd"], ["x", "yz"])
    assert token_cursor.line(transcript, Cursor(0, 1), 1, 4) == (0, 4)
    assert token_cursor.line(transcript, Cursor(0, 3), 1, 0) == (1, 0)
    assert token_cursor.line(transcript, Cursor(1, 0), -1, 3) == (0, 4)
    assert token_cursor.line(transcript, Cursor(1, 1), 1, 0) is None


def test_the_next_notable_token_is_sought_across_sections() -> None:
    transcript = transcript_of(["a", "b"], ["c", "d"])
    surprising = partial(Thresholds().next, "surprising")
    assert token_cursor.seek(transcript, Cursor(0, 0), 1, surprising) == (0, 1)
    assert token_cursor.seek(transcript, Cursor(0, 1), 1, surprising) == (1, 1)
    assert token_cursor.seek(transcript, Cursor(1, 1), -1, surprising) == (0, 1)
    assert token_cursor.seek(transcript, Cursor(1, 1), 1, surprising) is None
    assert token_cursor.notable(transcript, surprising) == (1, 1)


@given(st.lists(st.lists(st.sampled_from(["a", "B", "ab", "[", "]"]), max_size=6), min_size=1, max_size=3))
async def test_a_search_goes_through_all_matches_in_order_and_around(answers: list[list[str]]) -> None:
    transcript, search = transcript_of(*answers, prompt="ab "), Search("aB")
    cursors = []
    for section in range(len(transcript)):
        body = transcript.body(section)
        found = (body.token_at(start) for start, _ in search.matches(body, 3, body.length))
        cursors += [Cursor(section, token) for token in dict.fromkeys(found) if token is not None]
    for step in (1, -1):
        cursor, went = None, []
        for _ in cursors:
            cursor = await search.next_from(transcript, cursor, step)
            went.append(cursor)
        assert went == cursors[::step]
        assert await search.next_from(transcript, cursor, step) == (went[0] if went else None)


def test_matches_that_go_over_the_edge_of_a_part_are_found_from_both_sides() -> None:
    body = transcript_of(["xxne", "edle"]).body(0)
    assert list(Search("NEEDLE").matches(body, 0, 4)) == [(2, 8)]
    assert list(Search("needle").matches(body, 4, 8)) == [(2, 8)]
    assert list(Search("needle").matches(body, 0, 2)) == []


def test_a_selection_of_tokens_gives_their_exact_text() -> None:
    transcript = transcript_of(["one\x1b", " tw", "o\u2028"], ["three"])
    assert selected_text(transcript, select_tokens(transcript, Cursor(0, 0), Cursor(0, 1))) == "one\x1b tw"
    across = select_tokens(transcript, Cursor(0, 2), Cursor(1, 0))
    assert selected_text(transcript, across) == "o\u2028\ntitle\nthree"


def test_a_selection_is_widened_to_whole_visible_characters() -> None:
    transcript = transcript_of(["👩", "\u200d🚀", " b"])
    assert selected_text(transcript, Selection(Offset(1, BODY), Offset(2, BODY))) == "👩\u200d🚀"


def test_a_row_knows_which_of_its_characters_are_selected() -> None:
    transcript = transcript_of(["one two three four"])
    row = transcript.row(1)
    assert row is not None
    assert selected_span(select_tokens(transcript, Cursor(0, 0), Cursor(0, 0)), row) == (0, 18)
    assert selected_span(Selection(Offset(2, BODY), None), row) == (2, row.end)
    assert selected_span(Selection(Offset(0, 3 + BODY), None), row) is None
