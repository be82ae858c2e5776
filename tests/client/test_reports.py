"""Answers that users of programs like this one reported come out right, and say what is odd about them."""

from __future__ import annotations

import json
from math import exp

import pytest

from tests.client.cases import CASES, answer_events, cut, reasons, run_of, shape, texts
from tests.client.loopback import DONE, event
from workbench.client import response_body
from workbench.client.response_body import ResponseBody
from workbench.domain.errors import EndpointError
from workbench.domain.figures import perplexity
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run, Usage

REPORTS = CASES / "reports"


def reported(name: str, request: Request | None = None) -> Run:
    """The run that a reported answer makes, however it is cut."""
    body = (REPORTS / f"{name}.response").read_bytes()
    run = run_of(answer_events([body]), request)
    assert shape(run_of(answer_events(cut(body, 1)), request)) == shape(run)
    return run


def of_choice(text: str, **fields: object) -> bytes:
    """An event of one choice with more fields than usual."""
    return b"data: " + json.dumps({"choices": [{"text": text, **fields}]}).encode() + b"\n\n"


def asking(**parameters: int) -> Request:
    return Request(TextPrompt("x"), parameters=Parameters(parameters))


@pytest.mark.parametrize("name", ["done_only", "choices_empty"])
def test_an_answer_without_anything_is_an_error(name: str) -> None:
    run = reported(f"no_answer/{name}")
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.title == "No answer received"


def test_a_blank_choice_without_an_end_is_no_answer_but_one_that_ended_is() -> None:
    assert run_of(answer_events([event("") + DONE])).outcome is Outcome.ERROR
    assert run_of(answer_events([event("", finish_reason="stop") + DONE])).outcome is Outcome.COMPLETE
    assert run_of(answer_events([b""])).outcome is Outcome.ERROR


def test_missing_choices_are_noted() -> None:
    run = reported("no_answer/one_of_three", asking(n=3))
    assert texts(run) == ["half an ans"]
    assert run.outcome is Outcome.UNFINISHED
    assert run.notes == ["server returned 1 of 3 choices", "the answer ended without a finish_reason"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("json_then_done", "upstream 7 went away"),
        ("detail", "out of memory on device 1"),
        ("plain_text", "Internal Server Error"),
        ("page", "502 Bad Gateway"),
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n\n" + DONE], ids=["cut", "done"])
def test_an_error_within_a_stream_needs_no_data_field(name: str, message: str, end: bytes) -> None:
    body = (REPORTS / "error_without_data" / f"{name}.response").read_bytes() + end
    run = run_of(answer_events([body]))
    assert shape(run_of(answer_events(cut(body, 1)))) == shape(run)
    assert texts(run) == ["Low tide"]
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert message in run.error.message


def test_a_chunk_without_its_data_field_is_taken() -> None:
    run = reported("error_without_data/chunk_without_data")
    assert texts(run) == ["Low tide rises"]
    assert run.outcome is Outcome.COMPLETE


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"upstream 7 went away"}}\n\ndata: [DONE]\n\n',
        b'data: {"choices":[{"text":"a"}]}\n{"error":{"message":"upstream 7 went away"}}\n\n',
        b'data: {}\n\n{\n  "error": {\n    "message": "upstream 7 went away"\n  }\n}\n',
        b'data: {"choices":[{"text":"a"}]}\n\nError: upstream 7 went away\n\n' + DONE,
        b'{"choices":[{"text":"a"}]}\n{"error":{"message":"upstream 7 went away"}}\n',
        event("a") + b'event: error\ndata: {"message":"upstream 7 went away"}\n\n' + DONE,
        event("a") + b"event: error\ndata: upstream 7 went away\n\n" + DONE,
    ],
    ids=[
        "first",
        "in the same block",
        "over several lines",
        "as a field",
        "in JSON lines",
        "as an event",
        "as text",
    ],
)
def test_an_error_is_found_wherever_it_stands(body: bytes) -> None:
    run = run_of(answer_events([body]))
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert "upstream 7 went away" in run.error.message


def test_lines_behind_a_whole_answer_are_noted_and_change_nothing() -> None:
    run = run_of(answer_events([event("a", finish_reason="stop") + b"connection reset by peer\n\n" + DONE]))
    assert run.outcome is Outcome.COMPLETE
    assert run.notes == ["part of the response was not an event and is left out: connection reset by peer"]


@pytest.mark.parametrize("start", [b"data: ", b"data: x\r\n\r\ndata: a\r\n\r\ndata: ", b"{", b"<p>"])
def test_an_event_or_a_body_without_an_end_is_refused(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_body, "MOST_BYTES", 1024**2)
    answer = ResponseBody()
    list(answer.feed(start))
    list(answer.feed(b"x" * (1024**2 - 64)))
    list(answer.feed(b"x" * 256))
    with pytest.raises(EndpointError, match="larger than 1 MiB"):
        list(answer.feed(b"x"))


@pytest.mark.parametrize(
    "body",
    [b"data: %s\n\ndata: [DONE]\n\n", b"\n\ndata: %s\n\ndata: [DONE]\n\n", b"%s", b" \n%s", b"%s\n[DONE]"],
    ids=["stream", "blank lines and stream", "JSON", "blanks and JSON", "lines of JSON"],
)
def test_a_byte_order_mark_before_a_body_is_dropped_however_it_is_cut(body: bytes) -> None:
    whole = b"\xef\xbb\xbf" + body % b'{"choices":[{"text":"a","finish_reason":"stop"}]}'
    for size in (1, 2, 3, 4, len(whole)):
        run = run_of(answer_events(cut(whole, size)))
        assert (texts(run), run.outcome, run.notes) == (["a"], Outcome.COMPLETE, [])


def test_blank_lines_before_a_body_are_not_kept() -> None:
    answer = ResponseBody()
    for _ in range(3):
        list(answer.feed(b"\n" * response_body.MOST_BYTES))
    list(answer.feed(b'{"choices":[{"text":"a","finish_reason":"stop"}]}'))
    assert answer.finish()


@pytest.mark.parametrize(("name", "text", "outcome"), [("streamed", " 7", "stop"), ("whole", "", "length")])
def test_reasoning_beside_the_text_is_noted_once(name: str, text: str, outcome: str) -> None:
    run = reported(f"reasoning/{name}")
    assert texts(run) == [text]
    assert reasons(run) == [outcome]
    assert run.outcome is Outcome.COMPLETE
    (note,) = run.notes
    assert note.startswith("the endpoint sent reasoning separately from the text")
    if name == "whole":
        assert run.usage == Usage(3, 9, 12)


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "reasoning_text", "thinking"])
@pytest.mark.parametrize("table", [None, "delta", "message"])
def test_reasoning_is_seen_under_every_name_but_not_where_it_is_blank(key: str, table: str | None) -> None:
    for text, count in (("Hm", 1), ("", 0), (None, 0)):
        more = {key: text} if table is None else {table: {key: text}}
        run = run_of(answer_events([of_choice("a", finish_reason="stop", **more) + DONE]))
        assert texts(run) == ["a"]
        assert len(run.notes) == count, text


def raws(run: Run) -> list[bytes]:
    return [token.text.encode() if token.raw is None else token.raw for token in run.ordered[0]]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("escaped", [b"\xe6\xbc", b"\xa2"]),
        ("byte_fallback", [b"\xe6", b"\xbc", b"\xa2"]),
        ("byte_level", [b"\xe6\xbc", b"\xa2"]),
    ],
)
def test_bytes_of_a_character_stay_bytes(name: str, right: list[bytes]) -> None:
    run = reported(f"byte_tokens/{name}")
    assert texts(run) == ["漢"]
    assert raws(run) == right
    first, *_, last = run.ordered[0]
    assert [(alternative.text, alternative.raw) for alternative in first.alternatives] == [
        ("", right[0]),
        (" ink", None),
    ]
    assert [alternative.raw for alternative in last.alternatives] == [b"\xa2", b"\x95"]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("repeated_first", [("Salt", -0.5), (" in", None), (" it", None)]),
        ("one_behind", [("Salt", -0.5), (" in", None), (" it", None)]),
    ],
)
def test_a_logprob_of_another_token_is_left_out_and_noted(
    name: str, kept: list[tuple[str, float | None]]
) -> None:
    run = reported(f"logprobs_of_another_token/{name}", asking(logprobs=2))
    (choice,) = run.ordered
    assert [(token.text, token.logprob) for token in choice] == kept
    assert all(not token.alternatives for token in list(choice)[1:])
    assert run.notes == ["logprobs whose tokens differ from the text were left out"]
    assert perplexity(choice.logprobs) == pytest.approx(exp(0.5))


def test_the_last_logprob_of_a_stream_that_is_one_behind_is_left_out_too() -> None:
    def part(text: str, name: str, logprob: float) -> bytes:
        return of_choice(text, logprobs={"tokens": [name], "token_logprobs": [logprob]})

    body = part("Salt", "x", -0.5) + part(" in", "Salt", -0.6) + part("", " in", -0.7) + DONE
    (choice,) = run_of(answer_events([body])).ordered
    assert [(token.text, token.logprob) for token in choice] == [("Salt", None), (" in", None)]
