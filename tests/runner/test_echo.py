"""The prompt's own tokens: echoed in the choice, or told apart and put before it."""

from __future__ import annotations

import json

import pytest

from tests.client.cases import answer_events, run_of
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.branching import branch_from, end_of


def legacy(*texts: str, first: float | None = -1.0) -> dict[str, object]:
    """Logprobs of tokens as legacy arrays."""
    logprobs = [first, *[-2.0] * (len(texts) - 1)]
    tops = [
        None if logprob is None else {text: logprob, " other": -3.0}
        for text, logprob in zip(texts, logprobs, strict=True)
    ]
    return {"tokens": list(texts), "token_logprobs": logprobs, "top_logprobs": tops}


def by_ids(*texts: str) -> list[object]:
    """The prompt's tokens as vLLM tells them: nothing of the first, then maps by id, the own one first."""
    rows: list[object] = [None]
    for id, text in enumerate(texts[1:], 11):
        rows.append(
            {
                str(id): {"logprob": -2.0, "rank": 2, "decoded_token": text},
                "99": {"logprob": -0.5, "rank": 1, "decoded_token": " x"},
            }
        )
    return rows


def choice(index: int = 0, text: str = " a", **more: object) -> dict[str, object]:
    """One choice of a whole answer."""
    return {"index": index, "text": text, "finish_reason": "stop", "logprobs": legacy(text), **more}


def answered(
    sent: Prompt, *choices: dict[str, object], extra: dict[str, bool] | None = None, **top: object
) -> Run:
    """The run that a whole answer makes."""
    request = Request(sent, "m", Parameters({"logprobs": 2}, extra or {}))
    body = json.dumps({"id": "x", "choices": list(choices), **top}).encode()
    return run_of(answer_events([body]), request)


def test_tokens_told_beside_the_choices_stand_before_each_answer() -> None:
    reported = [{"text": "Once upon", "logprobs": legacy("Once", " upon", first=None)}]
    run = answered(TextPrompt("Once upon"), choice(0), choice(1, " b"), prompt=reported, extra={"echo": True})
    assert [answer.texts() for answer in run.ordered] == [["Once", " upon", " a"], ["Once", " upon", " b"]]
    assert [answer.echoed for answer in run.ordered] == [2, 2]
    assert run.choices[0].alternatives_of(1)[1].text == " other"


def test_tokens_told_of_several_prompts_go_to_their_own_answers() -> None:
    reported = [{"text": text, "logprobs": legacy(text)} for text in ("One", "Two")]
    run = answered(TextsPrompt(("One", "Two")), choice(0), choice(1, " b"), prompt=reported)
    assert [answer.text for answer in run.ordered] == ["One a", "Two b"]


def test_prompt_logprobs_by_id_are_read_with_ids_and_alternatives() -> None:
    run = answered(TextPrompt("Once upon a"), choice(prompt_logprobs=by_ids("Once", " upon", " a")))
    (answer,) = run.ordered
    assert (answer.texts(), answer.echoed) == (["Once", " upon", " a", " a"], 3)
    assert [answer.id_of(index) for index in range(3)] == [None, 11, 12]
    assert (answer.logprob_of(0), answer.logprob_of(1)) == (None, -2.0)
    assert [(other.text, other.id) for other in answer.alternatives_of(1)] == [(" upon", 11), (" x", 99)]


def test_the_first_token_takes_the_id_that_the_list_of_ids_tells() -> None:
    reported = choice(prompt_logprobs=by_ids("Once", " upon"), prompt_token_ids=[10, 11])
    (answer,) = answered(TextPrompt("Once upon"), reported).ordered
    assert [answer.id_of(index) for index in range(2)] == [10, 11]


def test_prompt_logprobs_of_token_ids_keep_the_ids_that_were_sent() -> None:
    (answer,) = answered(TokensPrompt((10, 11)), choice(prompt_logprobs=by_ids("Once", " upon"))).ordered
    assert (answer.texts(), answer.echoed) == (["", " upon", " a"], 2)
    assert [answer.id_of(index) for index in range(2)] == [10, 11]


def test_an_echo_is_not_doubled_by_what_is_told_apart() -> None:
    echo = {**choice(text="Once a"), "logprobs": legacy("Once", " a", first=None)}
    run = answered(TextPrompt("Once"), {**echo, "prompt_logprobs": by_ids("Once")}, extra={"echo": True})
    assert (run.ordered[0].texts(), run.ordered[0].echoed) == (["Once", " a"], 1)


def test_an_echo_of_token_ids_is_as_many_tokens() -> None:
    echo = {**choice(text="Once upon a"), "logprobs": legacy("Once", " upon", " a", first=None)}
    (answer,) = answered(TokensPrompt((1, 2)), echo, extra={"echo": True}).ordered
    assert answer.echoed == 2


@pytest.mark.parametrize("rows", [[], [None], [1, "x", {}], [{"7": 3}], [{"-1": {"logprob": "x"}}], "no"])
def test_odd_prompt_logprobs_leave_the_answer_as_it_is(rows: object) -> None:
    (answer,) = answered(TextPrompt("Once"), choice(prompt_logprobs=rows)).ordered
    assert answer.text.endswith(" a")
    assert answer.text[: answer.start_of(answer.echoed)] in ("", "Once")


def test_a_prompt_that_was_put_before_the_answer_is_not_sent_twice() -> None:
    run = answered(TextPrompt("Once upon"), choice(prompt_logprobs=by_ids("Once", " upon")))
    assert branch_from(end_of(run, run.choices[0])).prompt == TextPrompt("Once upon a")
