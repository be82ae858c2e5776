"""The answer's choices in the contract's shape."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.local.fakes import chunk, end, tokens
from workbench.local.choice_builder import (
    AnswerToken,
    ChoiceBuilder,
    logprobs_json,
    rank,
    usage_json,
    without_lead,
)
from workbench.local.engine import Chunk, EngineToken
from workbench.local.stops import StopMatcher


def builder(
    logprobs: int | None = 2, stops: tuple[str, ...] = (), includes_stop: bool = True, echo: bool = False
) -> ChoiceBuilder:
    return ChoiceBuilder(logprobs, StopMatcher(stops), lambda token: f"<{token}>", includes_stop, echo)


def text_of(made: ChoiceBuilder) -> str:
    return "".join(token.text for token in made.tokens)


def test_the_taken_token_is_an_extra_row_where_it_is_not_among_the_likeliest() -> None:
    (token,) = builder(2).take(chunk(" d", -5.0, {" a": -0.5, " b": -1.0}))
    assert token == AnswerToken(" d", -5.0, ((" a", -0.5), (" b", -1.0), (" d", -5.0)))


def test_no_alternatives_asked_for_gives_the_taken_token_only() -> None:
    (token,) = builder(0).take(chunk(" a", -0.5, {" a": -0.5}))
    assert token.top == ((" a", -0.5),)


def test_logprobs_not_asked_for_give_no_rows_but_still_rank() -> None:
    (token,) = builder(None).take(chunk(" a", -0.5))
    assert token == AnswerToken(" a", -0.5)


MAN = (
    EngineToken(1, b"\xf0\x9f", -0.5, (EngineToken(9, b" a", -0.2), EngineToken(1, b"\xf0\x9f", -0.5))),
    *(
        EngineToken(number, bytes([byte]), -0.25, (EngineToken(number, bytes([byte]), -0.25),))
        for number, byte in ((2, 0x91), (3, 0xA8))
    ),
)
"""The tokens of one character."""


def test_a_character_spread_over_tokens_is_one_token_with_the_logprob_of_all() -> None:
    made = builder(2)
    made.take(chunk("a"))
    assert [made.take(Chunk(token=token)) for token in MAN[:2]] == [[], []]
    (token,) = made.take(Chunk(token=MAN[2]))
    assert token == AnswerToken("👨", -1.0, ((" a", -0.2), ("bytes:\\xf0\\x9f", -0.5), ("👨", -1.0)))
    assert (text_of(made), made.generated) == ("a👨", 4)


def test_a_token_after_a_group_has_its_own_logprob() -> None:
    made = builder(0)
    for token in MAN:
        made.take(Chunk(token=token))
    assert made.take(chunk("b", -0.5))[0].logprob == -0.5


def test_an_answer_that_ends_within_a_character_breaks_none() -> None:
    made = builder(1)
    assert made.take(Chunk(token=MAN[0])) == []
    assert [token.text for token in made.take(Chunk(token=MAN[1], finish_reason="length"))] == [""]
    assert (text_of(made), made.generated) == ("", 2)


def test_bytes_that_are_part_of_no_character_are_replaced() -> None:
    made = builder(0)
    made.take(Chunk(token=EngineToken(1, b"\xa8", -1.0)))
    assert text_of(made) == "\ufffd"


def test_with_echo_tokens_are_never_grouped() -> None:
    made = builder(1, echo=True)
    first, *others = made.take(Chunk(prompt=(EngineToken(7, b"x"), *MAN[:1])))
    assert first == AnswerToken("x", None, None, "x")
    assert others == [AnswerToken("", -0.5, ((" a", -0.2), ("bytes:\\xf0\\x9f", -0.5)), "bytes:\\xf0\\x9f")]
    made.take(Chunk(token=MAN[1]))
    made.take(Chunk(token=MAN[2], finish_reason="length"))
    assert text_of(made) == "x👨"
    assert logprobs_json(made.tokens, 0) == {
        "tokens": ["x", "bytes:\\xf0\\x9f", "bytes:\\x91", "bytes:\\xa8"],
        "token_logprobs": [None, -0.5, -0.25, -0.25],
        "top_logprobs": [
            None,
            {" a": -0.2, "bytes:\\xf0\\x9f": -0.5},
            {"bytes:\\x91": -0.25},
            {"bytes:\\xa8": -0.25},
        ],
        "text_offset": [0, 1, 1, 1],
    }
    assert made.mean_logprob == -0.25


def test_a_stop_text_in_an_echoed_prompt_ends_nothing() -> None:
    made = builder(0, ("x",), echo=True)
    made.take(Chunk(prompt=(EngineToken(7, b"x"), EngineToken(7, b"x", -1.0))))
    assert made.finish_reason is None
    made.take(chunk("x"))
    assert text_of(made) == "xxx"
    assert made.take(chunk("x")) == []


@pytest.mark.parametrize(
    ("parts", "text", "expected"),
    [
        ([b"<s>", b" a", b"b"], "ab", [b"", b"a", b"b"]),
        ([b" a", b"b"], " ab", [b" a", b"b"]),
        ([b"a", b"\xe2"], "a\u2028", [b"a", b"\xe2"]),
    ],
)
def test_what_a_tokenizer_puts_before_a_text_is_not_echoed(
    parts: list[bytes], text: str, expected: list[bytes]
) -> None:
    assert without_lead(parts, text.encode()) == expected


def test_tokens_without_text_are_keyed_by_name() -> None:
    nameless = EngineToken(2, b"", -0.5)
    (token,) = builder(2).take(
        Chunk(token=EngineToken(5, b"a", -1.0, (nameless, EngineToken(5, b"a", -1.0))))
    )
    assert token.top == (("<2>", -0.5), ("a", -1.0))


def test_two_tokens_of_one_text_keep_a_row_each() -> None:
    twin = EngineToken(6, b"a", -2.0)
    (token,) = builder(2).take(Chunk(token=EngineToken(5, b"a", -1.0, (EngineToken(5, b"a", -1.0), twin))))
    assert token.top == (("a", -1.0), ("bytes:\\x61", -2.0))


def test_a_token_that_reaches_beyond_the_stop_text_is_cut() -> None:
    made = builder(1, ("en",))
    assert made.take(chunk("th"))[0].text == "th"
    assert made.take(chunk("ends"))[0].text == "en"
    assert (text_of(made), made.finish_reason) == ("then", "stop")
    assert made.take(chunk("x")) == []


def test_an_unwanted_stop_text_is_held_back_until_it_is_sure_not_to_be_one() -> None:
    made = builder(1, ("\n\nQ:",), includes_stop=False)
    sent = [
        [token.text for token in made.take(chunk(text))] for text in ("a.", "\n", "b", "c\n", "\nQ", ": d")
    ]
    assert sent == [["a."], [], ["\n", "b"], [], [], ["c"]]
    assert made.tokens[-1] == AnswerToken("c", -1.0, (("c", -1.0),))
    assert (text_of(made), made.finish_reason, made.generated) == ("a.\nbc", "stop", 6)


def test_what_was_held_back_is_sent_where_an_answer_ends_without_its_stop_text() -> None:
    made = builder(None, ("ab",), includes_stop=False)
    assert made.take(chunk("xa")) == []
    assert [token.text for token in made.take(end())] == ["xa"]


def test_an_answer_that_is_nothing_but_its_stop_text_is_empty() -> None:
    made = builder(1, ("ab",), includes_stop=False)
    assert [made.take(chunk(text)) for text in "ab"] == [[], []]
    assert (text_of(made), made.finish_reason) == ("", "stop")


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(st.text("ab", max_size=3), max_size=12),
)
def test_without_its_stop_text_an_answer_is_the_same_however_it_is_cut_into_tokens(
    stops: list[str], texts: list[str]
) -> None:
    made = builder(0, tuple(stops), includes_stop=False)
    for event in tokens(texts):
        made.take(event)
    whole = "".join(texts)
    _, start = min(
        ((at + len(stop), at) for stop in stops if (at := whole.find(stop)) >= 0),
        default=(0, len(whole)),
    )
    assert text_of(made) == whole[:start]
    assert all(token.top == ((token.text, -1.0),) for token in made.tokens)


def test_a_progress_event_adds_nothing() -> None:
    made = builder()
    assert made.take(Chunk()) == []
    assert made.take(end("stop")) == []
    assert made.finish_reason == "stop"


def test_tokens_join_to_the_text_and_offsets_count_characters() -> None:
    answer = [AnswerToken("a👨", -1.0, (("a👨", -1.0),)), AnswerToken("", -2.0), AnswerToken("b", None)]
    assert logprobs_json(answer, 10) == {
        "tokens": ["a👨", "", "b"],
        "token_logprobs": [-1.0, -2.0, None],
        "top_logprobs": [{"a👨": -1.0}, {}, {}],
        "text_offset": [10, 12, 12],
    }


def test_the_mean_leaves_out_what_has_no_logprob() -> None:
    made = builder(None)
    made.take(Chunk(token=EngineToken(1, b"a")))
    assert made.mean_logprob == -math.inf
    for logprob in (-1.0, -2.0):
        made.take(chunk("b", logprob))
    assert made.mean_logprob == -1.5


def test_candidates_are_ranked_by_mean_logprob_and_equals_keep_their_order() -> None:
    low, high, empty, equal = (builder(0) for _ in range(4))
    for made, script in ((low, tokens("a", -3.0)), (high, tokens("bc", -0.5)), (equal, tokens("d", -0.5))):
        for event in script:
            made.take(event)
    assert rank([low, high, empty, equal], 3) == [high, equal, low]


def test_usage_adds_up() -> None:
    assert usage_json(3, 4) == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
