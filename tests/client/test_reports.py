"""Answers that users of programs like this one reported come out right, and say what is odd about them."""

from __future__ import annotations

import pytest

from tests.client.cases import CASES, answer_events, cut, run_of, shape, texts
from tests.client.loopback import DONE, event
from workbench.client import assembly
from workbench.client.assembly import Assembly
from workbench.domain.errors import EndpointError
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome, Run

REPORTS = CASES / "reports"


def reported(name: str, request: Request | None = None) -> Run:
    """The run that a reported answer makes, however it is cut."""
    body = (REPORTS / f"{name}.response").read_bytes()
    run = run_of(answer_events([body]), request)
    assert shape(run_of(answer_events(cut(body, 1)), request)) == shape(run)
    return run


def asking(**parameters: int) -> Request:
    return Request(TextPrompt("x"), parameters=Parameters(parameters))


@pytest.mark.parametrize("name", ["done_only", "choices_empty"])
def test_an_answer_without_anything_is_an_error(name: str) -> None:
    run = reported(f"no_answer/{name}")
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.title == "No answer came"


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
    ("name", "words"),
    [
        ("json_then_done", "upstream 7 went away"),
        ("detail", "out of memory on device 1"),
        ("plain_text", "Internal Server Error"),
        ("page", "502 Bad Gateway"),
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n\n" + DONE], ids=["cut", "done"])
def test_an_error_within_a_stream_needs_no_data_field(name: str, words: str, end: bytes) -> None:
    body = (REPORTS / "error_without_data" / f"{name}.response").read_bytes() + end
    run = run_of(answer_events([body]))
    assert shape(run_of(answer_events(cut(body, 1)))) == shape(run)
    assert texts(run) == ["Low tide"]
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert words in run.error.message


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
    ],
    ids=["first", "in the same block", "over several lines", "as a field", "in JSON lines"],
)
def test_an_error_is_found_wherever_it_stands(body: bytes) -> None:
    run = run_of(answer_events([body]))
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert "upstream 7 went away" in run.error.message


def test_lines_behind_a_whole_answer_are_noted_and_change_nothing() -> None:
    run = run_of(answer_events([event("a", finish_reason="stop") + b"connection reset by peer\n\n" + DONE]))
    assert run.outcome is Outcome.COMPLETE
    assert run.notes == ["part of the answer was no event and is left out: connection reset by peer"]


@pytest.mark.parametrize("start", [b"data: ", b"data: x\r\n\r\ndata: a\r\n\r\ndata: ", b"{", b"<p>"])
def test_an_event_or_a_body_without_an_end_is_refused(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_BYTES", 1024**2)
    answer = Assembly()
    answer.feed(start)
    answer.feed(b"x" * (1024**2 - 64))
    answer.feed(b"x" * 256)
    with pytest.raises(EndpointError, match="larger than 1 MiB"):
        answer.feed(b"x")


def test_blank_lines_before_a_body_are_not_kept() -> None:
    answer = Assembly()
    for _ in range(3):
        answer.feed(b"\n" * assembly.MOST_BYTES)
    answer.feed(b'{"choices":[{"text":"a","finish_reason":"stop"}]}')
    assert answer.finish()
