"""What requests may cost is counted and asked about in one way."""

from __future__ import annotations

from workbench.domain.endpoint import Endpoint, Prices
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt, TextsPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.split import Split
from workbench.runner.many_runs import Job
from workbench.workspace.costs import Cost, cost_of, cost_of_jobs

PLAIN = Endpoint("plain", "http://127.0.0.1:9/v1")
PRICED = Endpoint("priced", "http://127.0.0.1:9/v1", prices=Prices(1.0, 2.0, "EUR"))


def a_request(*prompts: str, **values: int) -> Request:
    prompt = TextsPrompt(prompts) if len(prompts) > 1 else TextPrompt(prompts[0])
    return Request(prompt, "m", Parameters(values))


def test_every_prompt_choice_and_candidate_counts() -> None:
    assert cost_of(PLAIN, a_request("a", max_tokens=100)) == Cost(1, 1, 100)
    assert cost_of(PLAIN, a_request("a", "b", max_tokens=100, n=2)) == Cost(1, 4, 400)
    assert cost_of(PLAIN, a_request("a", max_tokens=10, n=2, best_of=5)) == Cost(1, 5, 50)
    assert cost_of(PLAIN, a_request("a")).tokens == 16, "the contract's max_tokens where none is set"


def test_a_split_request_is_as_many_as_go_out() -> None:
    assert cost_of(PLAIN, a_request("a", "b", n=3, max_tokens=10), Split(True, True)) == Cost(6, 6, 60)


def test_answers_have_a_price_where_the_endpoint_has_one() -> None:
    cost = cost_of(PRICED, a_request("a", max_tokens=1000, n=5)) + cost_of(
        PLAIN, a_request("a", max_tokens=7)
    )
    assert cost == Cost(2, 6, 5007, {"EUR": 0.01})
    assert str(cost) == (
        "2 requests, which may generate up to 5,007 completion tokens, at most 0.0100 EUR for the answers."
    )


def test_only_what_is_still_to_be_sent_costs() -> None:
    jobs = [Job(PLAIN, Run(a_request(prompt, max_tokens=8))) for prompt in "abc"]
    jobs[0].run.outcome = Outcome.COMPLETE
    assert cost_of_jobs(jobs) == Cost(2, 2, 16)


def test_one_plain_request_needs_no_words_and_a_limit_of_nothing_never_asks() -> None:
    cost = cost_of(PLAIN, a_request("a", max_tokens=5000))
    assert cost.is_plain
    assert str(cost) == "This may generate up to 5,000 completion tokens."
    assert not (cost + cost).is_plain
    assert not cost_of(PLAIN, a_request("a", n=2)).is_plain
    assert [cost.must_be_confirmed(limit) for limit in (0, 4999, 5000)] == [False, True, False]
