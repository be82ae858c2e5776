"""Every dialect of an event is told from the event, and both ways of reading it agree."""

from __future__ import annotations

import gc
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.cases import answer_events, recordings, run_of, texts
from workbench.client.dialect import read_fast
from workbench.client.exact_dialect import parse, read_exact
from workbench.client.sse import SseParser
from workbench.domain.choice import Alternative, Choice
from workbench.domain.run import Outcome

_NAMES = st.text(max_size=5) | st.sampled_from(["bytes:\\xe2", "token_id:7", "a:b", '"', "\\", "Ġ"])
_NUMBERS = st.floats() | st.integers(-(2**70), 2**70)
_IDS = st.none() | st.integers(-1, 2**64)
_BYTES = st.none() | st.lists(st.integers(-1, 256), max_size=4)
_MAPS = st.none() | st.dictionaries(_NAMES, _NUMBERS | st.none(), max_size=4)


@st.composite
def legacy(draw: st.DrawFn) -> dict[str, object]:
    count = draw(st.integers(0, 3))
    return {
        "tokens": draw(st.lists(_NAMES, min_size=count, max_size=count)),
        "token_logprobs": draw(st.none() | st.lists(_NUMBERS | st.none(), min_size=count, max_size=count)),
        "top_logprobs": draw(st.none() | st.lists(_MAPS, min_size=count, max_size=count)),
        "text_offset": [0] * count,
    }


_TOPS = st.lists(
    st.fixed_dictionaries({"token": _NAMES, "logprob": _NUMBERS}, optional={"id": _IDS, "bytes": _BYTES}),
    max_size=3,
)
_CHAT = st.fixed_dictionaries(
    {
        "content": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {"token": _NAMES, "logprob": _NUMBERS, "top_logprobs": _TOPS},
                optional={"id": _IDS, "bytes": _BYTES},
            ),
            max_size=3,
        )
    }
)
_BY_ID = st.dictionaries(
    _NAMES | st.integers(-1, 2**70).map(str),
    st.none() | st.fixed_dictionaries({}, optional={"logprob": _NUMBERS, "decoded_token": _NAMES}),
    max_size=3,
)
_CHOICES = st.fixed_dictionaries(
    {"text": st.text(max_size=5)},
    optional={
        "index": st.integers(-1, 3),
        "finish_reason": st.none() | st.sampled_from(["", "null", "stop"]) | st.integers(),
        "logprobs": st.none() | legacy() | _CHAT | st.floats(),
        "token_ids": st.none() | st.lists(st.integers(0, 9), max_size=3),
        "prompt_logprobs": st.none() | st.lists(st.none() | _BY_ID, max_size=3),
    },
)
_EVENTS = st.fixed_dictionaries(
    {"choices": st.lists(_CHOICES, max_size=3)},
    optional={
        "id": st.text(max_size=3) | st.none(),
        "model": st.text(max_size=3),
        "model_name": st.text(max_size=3),
        "created": st.none() | st.integers() | st.floats(),
        "usage": st.none() | st.fixed_dictionaries({"prompt_tokens": st.integers() | st.none()}),
        "error": st.none() | st.just("x"),
        "token": st.none() | st.just({"text": "a", "id": 1}),
        "prompt": st.none() | st.lists(st.fixed_dictionaries({"logprobs": st.none() | legacy()}), max_size=2),
    },
)


@given(_EVENTS)
def test_the_fast_path_says_what_the_exact_one_says(event: object) -> None:
    payload = json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass")
    fast = read_fast(payload)
    if fast is not None:
        assert repr(fast) == repr(read_exact(payload))


@pytest.mark.parametrize(
    ("row", "is_fast"),
    [
        (r'{":": -1, " a:b": -2, "\": ": -3}', True),
        (r'{"a": -1, "a": -2}', False),
        (r'{":": -1, ":": -2}', False),
        (r'{"a": -1, "a": -2, "\u003a": -3}', False),
        (r'{"a": -1, "bytes:\\xe2": -2}', False),
        (r'{"a": -1, "token_id:7": -2}', False),
    ],
)
def test_names_with_a_colon_are_read_fast_unless_one_is_told_twice_or_is_not_text(
    row: str, is_fast: bool
) -> None:
    logprobs = f'{{"tokens": ["a"], "token_logprobs": [-1], "top_logprobs": [{row}]}}'
    payload = f'{{"choices": [{{"text": "a", "logprobs": {logprobs}}}]}}'.encode()
    fast = read_fast(payload)
    assert (fast is not None) is is_fast
    if fast is not None:
        assert repr(fast) == repr(read_exact(payload))


@given(st.binary())
def test_no_bytes_break_the_reading(payload: bytes) -> None:
    fast = read_fast(payload)
    assert fast is None or repr(fast) == repr(read_exact(payload))
    assert run_of(answer_events([b"data: ", payload, b"\n\n"])).outcome is not None


@pytest.mark.parametrize("levels", [300, 100_000])
@pytest.mark.parametrize(
    "begin", ['{"choices":', '{"choices":[{"logprobs":{"top_logprobs":', '{"error":', "["]
)
def test_an_answer_that_nests_deeply_ends_as_any_other(begin: str, levels: int) -> None:
    end = begin.translate({ord("{"): "}", ord("["): "]"})[::-1]
    payload = begin * levels + "0" + "".join(bracket for bracket in end if bracket in "]}") * levels
    assert run_of(answer_events([b"data: ", payload.encode(), b"\n\n"])).outcome is not None


def test_most_recorded_events_take_the_fast_path() -> None:
    for case in recordings():
        if case.is_stream:
            parser = SseParser()
            payloads = [payload for payload in parser.feed(case.body) if payload not in (b"[DONE]", b"null")]
            slow = sum(read_fast(payload) is None for payload in payloads)
            assert slow <= len(payloads) // 10, case.name


def only(*events: object) -> Choice:
    body = (
        b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    )
    (choice,) = run_of(answer_events([body])).ordered
    return choice


def raw_case(name: str) -> Choice:
    from tests.client.cases import wire_cases

    case = next(known for known in wire_cases() if known.name == name)
    (choice,) = run_of(answer_events([case.body], case.status)).ordered
    return choice


def test_legacy_arrays_are_read() -> None:
    (token,) = raw_case("lp_legacy")
    assert token.logprob == -0.5
    assert token.alternatives == (Alternative(" there", -1.5), Alternative(" world", -0.5))
    assert str(token.rank) == "1"
    assert token.listed_at is not None


def test_byte_tokens_share_a_character_that_the_last_one_carries() -> None:
    first, second = raw_case("lp_bytes")
    assert (first.text, first.raw) == ("", b"\xe2\x80")
    assert (second.text, second.raw) == ("’", b"\x99")
    assert first.alternatives == (Alternative("", -0.1, None, b"\xe2\x80"),)
    assert first.listed_at is not None
    assert second.listed_at is not None


def test_the_chat_shape_has_ids_and_bytes() -> None:
    first, second = raw_case("lp_llamacpp")
    assert (first.text, first.raw, first.id) == ("", b"\xf0\x9f", 9)
    assert (second.text, second.raw, second.id) == ("\U0001f600", b"\x98\x80", 7)
    assert first.alternatives[1] == Alternative("", -3.4028234663852886e38, 8, b"\xe2")


def test_placeholders_give_ids_and_the_text_comes_from_the_chunk() -> None:
    (token,) = raw_case("lp_token_id")
    assert (token.text, token.id, token.logprob) == (" a", 264, -9999.0)
    assert [alternative.id for alternative in token.alternatives] == [264, 279]
    assert token.listed_at is not None


def test_numbers_that_are_none_are_left_out_and_said() -> None:
    (token,) = raw_case("lp_nonfinite")
    assert token.logprob is None
    assert [alternative.logprob for alternative in token.alternatives] == [None, None, 1e-7, None]


def test_rows_with_one_key_are_all_kept() -> None:
    (token,) = raw_case("lp_dupe_keys")
    assert [tuple(alternative)[:2] for alternative in token.alternatives] == [
        ("true", -0.1),
        ("true", -2.5),
        ("", -4),
        ("", -5),
    ]


def test_a_chosen_token_outside_the_rows_is_not_listed() -> None:
    (token,) = raw_case("lp_sampled_missing")
    assert token.logprob == -9999.0
    assert token.listed_at is None


def test_the_first_echoed_token_has_no_logprob() -> None:
    first, second = raw_case("lp_echo_first_null")
    assert (first.logprob, first.alternatives, second.logprob) == (None, (), -2.0)


def test_a_bare_number_with_the_token_beside_the_choices_is_read() -> None:
    choice = only(
        {
            "choices": [{"text": " a", "logprobs": -0.12, "delta": {"content": " a"}}],
            "token": {"id": 5, "text": " a", "logprob": -0.12, "special": False},
        }
    )
    assert [(token.text, token.logprob, token.id) for token in choice] == [(" a", -0.12, 5)]


def test_probabilities_after_sampling_become_logprobs_and_are_said() -> None:
    event = {
        "choices": [
            {
                "text": "a",
                "logprobs": {
                    "content": [{"token": "a", "prob": 1.0, "top_probs": [{"token": "b", "prob": 0.0}]}]
                },
            }
        ]
    }
    run = run_of(answer_events([b"data: " + json.dumps(event).encode() + b"\n\n"]))
    (token,) = run.ordered[0]
    assert (token.logprob, token.alternatives) == (0.0, (Alternative("b", None),))
    assert run.notes[0] == "the probabilities are those after sampling"


def test_logprobs_that_come_all_at_the_end_replace_the_plain_pieces() -> None:
    late = {
        "tokens": ["He", "llo", " you"],
        "token_logprobs": [-1, -2, -3],
        "top_logprobs": [{"He": -1}, {"llo": -2}, {" you": -3}],
    }
    choice = only(
        {"choices": [{"text": "Hello"}]},
        {"choices": [{"text": " you"}]},
        {"choices": [{"text": "", "logprobs": late}]},
        {"choices": [{"text": "", "finish_reason": "stop"}]},
    )
    assert choice.text == "Hello you"
    assert [(token.text, token.logprob, token.at) for token in choice] == [
        ("He", -1, 0),
        ("llo", -2, 0),
        (" you", -3, 1),
    ]
    assert choice.revision == 1


def test_an_end_token_without_text_stays_a_token_without_text() -> None:
    choice = only(
        {"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [-1]}}]},
        {"choices": [{"text": "", "logprobs": {"tokens": ["<eos>"], "token_logprobs": [-2]}}]},
    )
    assert [(token.text, token.raw, token.logprob) for token in choice] == [
        ("a", None, -1),
        ("", b"<eos>", -2),
    ]


def test_arrays_of_unequal_length_lose_no_token() -> None:
    arrays = {"tokens": ["a", "b"], "token_logprobs": [-1], "top_logprobs": []}
    choice = only({"choices": [{"text": "ab", "logprobs": arrays}]})
    assert [(token.text, token.logprob) for token in choice] == [("a", -1), ("b", None)]


def test_chat_shaped_choices_are_text_too() -> None:
    choice = only(
        {"choices": [{"delta": {"content": "a"}}]}, {"choices": [{"message": {"content": "b"}, "index": 0}]}
    )
    assert choice.text == "ab"


def test_events_without_blank_lines_between_them_are_read_one_by_one() -> None:
    body = b'data: {"choices":[{"text":"a"}]}\ndata: {"choices":[{"text":"b","finish_reason":"stop"}]}\n\n'
    run = run_of(answer_events([body]))
    assert texts(run) == ["ab"]
    assert run.outcome is Outcome.COMPLETE


def test_an_event_that_is_no_json_is_the_reason_where_the_answer_has_no_end_else_a_note() -> None:
    events = b'data: oops\n\ndata: {"choices":[{"text":"a"}]}\n\n'
    run = run_of(answer_events([events]))
    assert texts(run) == ["a"]
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.message == "oops"
    run = run_of(answer_events([events + b'data: {"choices":[{"text":"","finish_reason":"stop"}]}\n\n']))
    assert run.outcome is Outcome.COMPLETE
    assert run.notes == ["part of the response was not an event and is left out: oops"]
    run = run_of(answer_events([b'data: {"choices"\n\n' + events]))
    assert "part of the response was not JSON and is left out" in run.notes


def test_lines_of_json_without_events_are_read() -> None:
    run = run_of(answer_events([b'{"choices":[{"text":"a"}]}\n{"choices":[{"text":"b"}]}\n']))
    assert texts(run) == ["ab"]


def test_a_stream_that_ends_within_its_first_event_is_quoted_however_it_came() -> None:
    body = b'data: {"choices": [{"text": "a", "in'
    for cut in range(len(body) + 1):
        error = run_of(answer_events([body[:cut], body[cut:]])).error
        assert error is not None
        assert error.message == body.decode()


def test_a_page_in_place_of_a_stream_is_an_error() -> None:
    run = run_of(answer_events([b"<html><title>Log in</title></html>"]))
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.message == "Log in"


def test_plain_text_in_place_of_a_stream_is_an_error() -> None:
    run = run_of(answer_events([b"upstream timed out"]))
    assert run.error is not None
    assert run.error.message == "upstream timed out"


def test_text_after_a_finish_reason_is_kept_and_said() -> None:
    body = b'data: {"choices":[{"text":"a","finish_reason":"stop"}]}\n\ndata: {"choices":[{"text":"b"}]}\n\n'
    run = run_of(answer_events([body]))
    assert texts(run) == ["ab"]
    assert "text received after a finish_reason" in run.notes


@pytest.mark.parametrize("payload", [b"[[], {}]", b"[" * 100_000, b"{"])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_reading_leaves_the_garbage_collection_as_it_was(payload: bytes, is_enabled: bool) -> None:
    (gc.enable if is_enabled else gc.disable)()
    try:
        with suppress(ValueError):
            parse(payload)
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()
