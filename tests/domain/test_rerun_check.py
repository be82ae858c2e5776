"""Whether an answer came out the same again."""

from __future__ import annotations

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.choice import Choice
from workbench.domain.rerun_check import check_choice, check_run, describe_repeats
from workbench.domain.run import Failure, Outcome, Run


def test_an_equal_answer_is_identical() -> None:
    check = check_choice(choice_of(["a", "b"]), choice_of(["a", "b"]))
    assert check.identical
    assert check.describe() == "identical 2/2"


def test_the_same_text_in_other_pieces_is_identical() -> None:
    assert check_choice(choice_of(["ab"]), choice_of(["a", "b"])).identical


def test_the_first_divergence_is_named_with_how_close_the_race_was() -> None:
    recorded = choice_of([token_of("a", 0.9, x=0.1), token_of("b", 0.5, c=0.45)])
    check = check_choice(recorded, choice_of(["a", "c"]))
    assert not check.identical
    assert check.describe() == (
        "1/2 equal, diverges at token 2: 'b' recorded, 'c' again; the two likeliest were 5.0% apart"
    )


def test_an_answer_that_ends_earlier_differs_at_its_end() -> None:
    assert "'b' recorded, the end again" in check_choice(choice_of(["a", "b"]), choice_of(["a"])).describe()


def test_a_choice_that_did_not_come_again_differs() -> None:
    assert not check_run(
        run_of(choice_of(["a"], 0), choice_of(["b"], 1)), run_of(choice_of(["a"], 0))
    ).identical


def test_a_failed_rerun_is_not_identical() -> None:
    again = run_of(choice_of(["a"]))
    again.error = Failure("Too many requests", "slow down")
    check = check_run(run_of(choice_of(["a"])), again)
    assert not check.identical
    assert check.error == "Too many requests. slow down"


def test_repeats_are_counted() -> None:
    runs = [run_of(choice_of(["a", "b"])), run_of(choice_of(["a", "b"])), run_of(choice_of(["a", "c"]))]
    assert describe_repeats(runs[:2]) == "reproducible: 2 of 2 identical"
    assert describe_repeats(runs).startswith("not reproducible: 2 of 3 identical to the first; 1/2")


def cut_short(outcome: Outcome, *choices: Choice) -> Run:
    """A run that ended before its choices did."""
    run = run_of(*choices)
    run.outcome = outcome
    return run


@pytest.mark.parametrize(
    ("recorded", "again", "message"),
    [
        (
            run_of(choice_of(["a", "b"])),
            cut_short(Outcome.STOPPED),
            "nothing to compare: the re-run was stopped before its first token",
        ),
        (
            run_of(choice_of(["a", "b"])),
            cut_short(Outcome.STOPPED, choice_of(["a"], finish_reason=None)),
            "identical for 1 token, then the re-run was stopped",
        ),
        (
            cut_short(Outcome.ERROR, choice_of(["a", "b"], finish_reason=None)),
            run_of(choice_of(["a", "b", "c"])),
            "identical for 2 tokens, then the recorded run was interrupted",
        ),
    ],
)
def test_what_a_run_that_was_cut_short_left_out_is_no_difference(
    recorded: Run, again: Run, message: str
) -> None:
    check = check_run(recorded, again)
    (choice,) = check.choices
    assert choice.describe() == message
    assert not choice.differs
    assert not check.identical
    assert describe_repeats([recorded, again]) == f"1 of 2 identical to the first; {message}"


def test_a_run_that_differs_before_it_was_stopped_differs() -> None:
    stopped = cut_short(Outcome.STOPPED, choice_of(["x"], finish_reason=None))
    (choice,) = check_run(run_of(choice_of(["a", "b"])), stopped).choices
    assert choice.differs
    assert choice.describe() == "0/2 equal, diverges at token 1: 'a' recorded, 'x' again"


def test_a_choice_that_ended_before_its_run_was_stopped_is_whole() -> None:
    stopped = cut_short(Outcome.STOPPED, choice_of(["a"]))
    (choice,) = check_run(run_of(choice_of(["a", "b"])), stopped).choices
    assert choice.describe().endswith("'b' recorded, the end again")


def test_two_runs_without_an_answer_are_not_called_identical() -> None:
    check = check_run(cut_short(Outcome.STOPPED), cut_short(Outcome.STOPPED))
    assert not check.identical
    assert check.error == "neither run has an answer"
