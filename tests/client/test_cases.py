"""Every recorded body comes out the same however the network cuts it."""

from __future__ import annotations

import math

import pytest

from tests.client.cases import (
    Case,
    answer_events,
    cut,
    reasons,
    recordings,
    run_of,
    shape,
    texts,
    wire_cases,
)
from workbench.domain.display import one_line
from workbench.domain.run import Outcome

ALL = [*wire_cases(), *recordings()]
STREAMS = [case for case in ALL if case.is_stream]


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_body_comes_out_as_its_case_says(case: Case) -> None:
    run = run_of(answer_events([case.body], case.status))
    assert run.outcome == case.outcome
    if case.texts is not None:
        assert texts(run) == case.texts
    if case.finish_reasons is not None:
        assert reasons(run) == case.finish_reasons
    if case.entries is not None:
        # The first token of an echoed prompt is told without a logprob.
        first = 1 if "echo" in case.name else 0
        counts = [sum(not math.isnan(logprob) for logprob in choice.logprobs) for choice in run.ordered]
        assert [count + first for count in counts] == case.entries
    if case.usage is not None:
        assert run.usage == case.usage
    if case.error:
        assert run.error is not None
        assert run.error.message == one_line(case.error)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_body_cut_anywhere_comes_out_the_same(case: Case) -> None:
    whole = shape(run_of(answer_events([case.body], case.status)))
    assert shape(run_of(answer_events(cut(case.body, 1), case.status))) == whole
    # Every place of the small bodies; the large ones repeat themselves.
    step = 1 if len(case.body) < 600 else len(case.body) // 120
    for size in range(1, len(case.body), step):
        pieces = [case.body[:size], case.body[size:]]
        assert shape(run_of(answer_events(pieces, case.status))) == whole, size


@pytest.mark.parametrize("case", STREAMS, ids=str)
@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
def test_other_line_ends_change_nothing(case: Case, line_end: bytes) -> None:
    whole = shape(run_of(answer_events([case.body])))
    other = case.body.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    assert shape(run_of(answer_events([other]))) == whole
    assert shape(run_of(answer_events(cut(other, 1)))) == whole


@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.parametrize("percent", [25, 50, 75])
def test_a_body_that_is_cut_short_keeps_what_came(case: Case, percent: int) -> None:
    run = run_of(answer_events([case.body[: len(case.body) * percent // 100]], case.status))
    whole = run_of(answer_events([case.body], case.status))
    assert run.outcome is not None
    for index, choice in run.choices.items():
        assert whole.choices[index].text.startswith(choice.text)
    if run.outcome is Outcome.COMPLETE:
        assert run.choices
        assert "" not in reasons(run)
    elif run.outcome is Outcome.ERROR:
        assert run.error is not None
    elif case.outcome == "complete":
        assert run.outcome in (Outcome.TRUNCATED, Outcome.UNFINISHED)
