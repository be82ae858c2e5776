"""A branch's prompt is the run's prompt, the text before the token, and the alternative."""

from __future__ import annotations

import pytest

from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.branching import branch_at, branch_from, end_of


def answered(prompt: Prompt, index: int = 0, n: int = 1, *, ids: bool = True) -> tuple[Run, Choice]:
    """A run whose choice `index` says "a b c" in three tokens with ids 11, 12, 13."""
    run = Run(Request(prompt, "m", Parameters().set("n", n)))
    choice = run.choice(index)
    for number, text in enumerate(("a", " b", " c")):
        choice.append(
            ReceivedToken(text, -0.5, (Alternative(" x", -1.0, 99),), 11 + number if ids else None), 0.1
        )
    return run, choice


def test_a_text_prompt_goes_on_with_the_text_before_the_token_and_the_alternative() -> None:
    run, choice = answered(TextPrompt("P:"))
    branch = branch_at(run, choice, 2, Alternative(" x", -1.0))
    assert branch.prompt == TextPrompt("P:a b x")
    assert (branch.parent.run, branch.parent.choice, branch.parent.token) == (run.id, 0, 2)
    assert branch.parent.alternative == " x"


def test_the_first_token_branches_right_behind_the_prompt() -> None:
    run, choice = answered(TextPrompt("P:"))
    assert branch_at(run, choice, 0, Alternative("Z", -1.0)).prompt == TextPrompt("P:Z")


@pytest.mark.parametrize(("index", "own"), [(0, "P"), (1, "P"), (2, "Q"), (3, "Q")])
def test_of_several_prompts_the_one_that_the_choice_answers_goes_on(index: int, own: str) -> None:
    run, choice = answered(TextsPrompt(("P", "Q")), index, n=2)
    assert run.prompt_of(choice) == TextPrompt(own)
    assert branch_at(run, choice, 1, Alternative("!", -1.0)).prompt == TextPrompt(f"{own}a!")


def test_token_ids_go_on_as_token_ids() -> None:
    run, choice = answered(TokensPrompt((1, 2)))
    assert branch_at(run, choice, 2, Alternative(" x", -1.0, 99)).prompt == TokensPrompt((1, 2, 11, 12, 99))


def test_of_lists_of_token_ids_the_one_that_the_choice_answers_goes_on() -> None:
    run, choice = answered(TokenListsPrompt(((1,), (2, 3))), 1)
    assert branch_at(run, choice, 1, Alternative(" x", -1.0, 99)).prompt == TokensPrompt((2, 3, 11, 99))


def test_token_ids_that_nobody_told_are_refused_with_a_way_out() -> None:
    run, choice = answered(TokensPrompt((1, 2)), ids=False)
    with pytest.raises(BadValueError, match="token ids") as refused:
        branch_at(run, choice, 2, Alternative(" x", -1.0, 99))
    assert "text" in refused.value.hint


def characters(*pieces: ReceivedToken) -> tuple[Run, Choice]:
    """A run whose answer is these pieces."""
    run = Run(Request(TextPrompt("P"), "m"))
    choice = run.choice(0)
    for token in pieces:
        choice.append(token, 0.1)
    return run, choice


def test_a_part_of_a_character_cannot_end_a_text() -> None:
    run, choice = answered(TextPrompt("P"))
    with pytest.raises(BadValueError, match=r"\\xe2\\x80 cannot be sent") as refused:
        branch_at(run, choice, 1, Alternative("", -1.0, None, b"\xe2\x80"))
    assert "token ids" in refused.value.hint


def test_a_branch_within_a_character_is_exact_where_the_alternative_ends_it() -> None:
    run, choice = characters(
        ReceivedToken("a"), ReceivedToken("", raw=b"\xe2\x80"), ReceivedToken("’", raw=b"\x99")
    )
    branch = branch_at(run, choice, 2, Alternative("", -1.0, None, b"\x98"))
    assert branch.prompt == TextPrompt("Pa‘")
    assert branch_at(run, choice, 3, Alternative("s", -1.0)).prompt == TextPrompt("Pa’s")


def test_a_branch_within_a_character_says_what_cannot_be_sent() -> None:
    run, choice = characters(
        ReceivedToken("a"), ReceivedToken("", raw=b"\xe2\x80"), ReceivedToken("’", raw=b"\x99")
    )
    with pytest.raises(BadValueError, match=r"\\xe2\\x80"):
        branch_at(run, choice, 2, Alternative(" b", -1.0))


def test_an_answer_that_ends_within_a_character_goes_on_without_it_and_says_so() -> None:
    branch = branch_from(end_of(*characters(ReceivedToken("a"), ReceivedToken("", raw=b"\xf0\x9f"))))
    assert branch.prompt == TextPrompt("Pa")
    assert "\\xf0\\x9f" in branch.note


def test_an_echoed_prompt_is_not_sent_twice() -> None:
    run, choice = answered(TextPrompt("a"))
    choice.echoed = 1
    assert branch_at(run, choice, 2, Alternative(" x", -1.0)).prompt == TextPrompt("a b x")


def test_continuing_takes_the_whole_answer() -> None:
    run, choice = answered(TextPrompt("P:"))
    branch = branch_from(end_of(run, choice))
    assert branch.prompt == TextPrompt("P:a b c")
    assert (branch.parent.kind, branch.parent.token) == ("continue", 3)
