"""Where a recorded answer and one of now diverge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.agreement import Tolerances
from workbench.domain.choice import ReceivedToken
from workbench.domain.parameters import Parameters
from workbench.domain.regression_case import AnswerComparison, CaseVerdict, compare_runs, judge
from workbench.domain.run import Run


def greedy(*pieces: ReceivedToken | str) -> Run:
    run = run_of(choice_of(pieces))
    run.request = run.request.__class__(run.request.prompt, "", Parameters({"temperature": 0.0}))
    return run


@pytest.mark.parametrize(
    ("recorded", "now", "token", "shown"),
    [
        (("a", " b", " c"), ("a", " x", " c"), 1, (" b", " x")),
        (("a", " b"), ("a", " b", " c"), 2, ("", " c")),
        (("a", " b", " c"), ("a", " b"), 2, (" c", "")),
        # Both tokens begin where the last text is that both share token by token.
        (("a", " b", "ady"), ("a", " bab", "ies"), 1, (" b", " bab")),
    ],
)
def test_both_distributions_follow_the_same_text_where_answers_diverge(
    recorded: Sequence[str], now: Sequence[str], token: int, shown: tuple[str, str]
) -> None:
    found = compare_runs(greedy(*recorded), greedy(*now), Tolerances())
    assert found.why == (f"the text diverges at token {token + 1}",)
    assert found.difference is not None
    assert found.difference.token == token
    assert (found.difference.recorded.token, found.difference.now.token) == shown


def test_equal_texts_show_where_the_distributions_differ_most() -> None:
    recorded = greedy(token_of("a", 0.5, x=0.3), token_of("b", 0.5, x=0.3))
    now = greedy(token_of("a", 0.5, x=0.3), token_of("b", 0.9, x=0.05))
    found = compare_runs(recorded, now, Tolerances(divergence=0.01))
    assert len(found.why) == 1
    assert found.difference is not None
    assert found.difference.token == 1
    assert found.agreement.positions == 2


def test_a_case_is_noisy_where_only_some_repeats_differ_and_failed_where_one_has_no_answer() -> None:
    same, other, failed = AnswerComparison(), AnswerComparison(why=("x",)), AnswerComparison(error="gone")
    assert judge([same, same]) == (CaseVerdict.SAME, 0)
    assert judge([same, other]) == (CaseVerdict.NOISY, 1)
    assert judge([other, other]) == (CaseVerdict.DIFFERS, 2)
    assert judge([other, failed]) == (CaseVerdict.FAILED, 0)
