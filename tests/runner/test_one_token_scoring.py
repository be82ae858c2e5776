"""A text scored by one-token requests: what they find equals what an echo of the prompt would say."""

from __future__ import annotations

from contextlib import aclosing
from math import exp, isnan, log

import pytest

from tests.client.loopback import serving
from tests.toy_model import ToyModel
from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError
from workbench.domain.figures import bits_per_byte, logprob_ceilings, perplexity, unlisted_tokens
from workbench.domain.prompt import Prompt, TextPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.run import Outcome, Run
from workbench.runner.connections import Connections
from workbench.runner.score_text import OneTokenScoring, plan_one_token_scoring, scored, scoring_request

TEXT = "Once salt wind 猫 gulls there tide"


async def test_listed_tokens_have_the_logprobs_that_an_echo_gives_and_the_others_a_ceiling() -> None:
    toy = ToyModel(has_tokenizer=True)
    async with serving(toy.handler) as loopback, aclosing(Connections({})) as connections:
        endpoint = loopback.endpoint(concurrency=4)
        plan = await plan_one_token_scoring(connections, endpoint, TextPrompt(TEXT))
        sent = plan.run(endpoint, "", 4)
        await connections.send(endpoint, sent)
        found = plan.scored(sent)
        prompts = [
            request.json["prompt"] for request in loopback.requests if not request.path.endswith("/tokenize")
        ]
        echo = Run(scoring_request(TextPrompt(TEXT), top=4), endpoint.name)
        await connections.send(endpoint, echo)
    assert sorted(map(str, prompts), key=len) == [str(list(range(end))) for end in range(1, 7)]
    choice, whole = found.choices[0], scored(echo).choice
    assert (choice.text, choice.echoed) == (TEXT, 7)
    unlisted = 0
    for index in range(1, 7):
        listed = {alternative.text for alternative in choice.alternatives_of(index)[:4]}
        if choice.text_of(index) in listed:
            assert choice.logprob_of(index) == whole.logprob_of(index)
        else:
            unlisted += 1
            (ceiling,) = logprob_ceilings(choice, range(index, index + 1))
            assert choice.logprob_of(index) is None
            assert ceiling > (whole.logprob_of(index) or 0)
    assert unlisted == unlisted_tokens(choice, range(7)) > 0
    assert f"{unlisted} of 6 tokens not among the 4 listed" in found.notes[0]
    least, true = (perplexity(logprob_ceilings(answer, range(7))) or 0 for answer in (choice, whole))
    assert least < true
    assert (bits_per_byte(choice, range(7)) or 0) < (bits_per_byte(whole, range(7)) or 0)


def test_a_ceiling_is_the_least_listed_or_the_remaining_mass_and_nothing_where_nothing_is_known() -> None:
    choice = Choice(0, 2)
    wide, narrow = (
        [Alternative(" a", log(first)), Alternative(" b", log(second)), Alternative(" c", log(0.001))]
        for first, second in ((0.5, 0.2), (0.9, 0.08))
    )
    for alternatives in ((), wide, narrow):
        choice.append(ReceivedToken(" x", None, alternatives), 0.0)
    # The third alternative is beside the two likeliest, so it bounds nothing but what remains.
    first, *others = map(exp, logprob_ceilings(choice, range(3)))
    assert isnan(first)
    assert others == pytest.approx([0.2, 0.019])
    assert unlisted_tokens(choice, range(3)) == 2


def sent_with(plan: OneTokenScoring, *listed: tuple[Alternative, ...]) -> Run:
    """The requests of a plan, each answered with these alternatives."""
    run = plan.run(Endpoint("any", "http://127.0.0.1:1"), "", 2)
    for index, alternatives in enumerate(listed):
        run.choices[index] = Choice(index, 2)
        run.choices[index].append(ReceivedToken("?", -9.0, alternatives), 0.0)
    run.outcome = Outcome.COMPLETE
    return run


def test_tokens_before_the_text_give_its_first_token_a_logprob_and_a_blank_that_is_not_its_own_is_cut() -> (
    None
):
    plan = OneTokenScoring(TextPrompt("Hi you"), (1,), (5, 6), (b" Hi", b" you"))
    run = sent_with(plan, (Alternative(" Hi", -0.5),), (Alternative(" you", -0.25),))
    assert run.request.prompt == TokenListsPrompt(((1,), (1, 5)))
    choice = plan.scored(run).choices[0]
    assert choice.texts() == ["Hi", " you"]
    assert list(choice.logprobs) == [-0.5, -0.25]


def test_parts_of_a_character_are_found_by_their_bytes_and_never_by_what_may_stand_for_any() -> None:
    cat = "猫".encode()
    plan = OneTokenScoring(
        TextPrompt("a猫猫"), (), (1, 2, 3, 4, 5), (b"a", cat[:1], cat[1:], cat[:1], cat[1:])
    )
    named = (Alternative("", -0.5, raw=cat[:1]), Alternative("\ufffd", -1.0))
    unclear = (Alternative("\ufffd", -0.5), Alternative("\ufffd", -1.0))
    by_id = (Alternative("\ufffd", -2.0, id=5), Alternative("\ufffd", -3.0, id=9))
    choice = plan.scored(sent_with(plan, named, unclear, unclear, by_id)).choices[0]
    assert choice.text == "a猫猫"
    assert [choice.raw_of(index) for index in (1, 2)] == [cat[:1], cat[1:]]
    assert [choice.logprob_of(index) for index in range(5)] == [None, -0.5, None, None, -2.0]


def test_a_token_that_two_alternatives_name_alike_stays_unknown() -> None:
    plan = OneTokenScoring(TextPrompt("a b"), (), (1, 2), (b"a", b" b"))
    choice = plan.scored(sent_with(plan, (Alternative(" b", -0.5), Alternative(" b", -1.0)))).choices[0]
    assert choice.logprob_of(1) is None


@pytest.mark.parametrize(
    ("prompt", "message"),
    [(TokensPrompt((1, 2)), "Only one text"), (TextPrompt("a " * 2001), "at most 2000")],
)
async def test_what_cannot_be_scored_so_is_refused_before_anything_is_sent(
    prompt: Prompt, message: str
) -> None:
    async with (
        serving(ToyModel(has_tokenizer=True).handler) as loopback,
        aclosing(Connections({})) as connections,
    ):
        with pytest.raises(BadValueError, match=message):
            await plan_one_token_scoring(connections, loopback.endpoint(), prompt)
        assert all(request.path.endswith("/tokenize") for request in loopback.requests)


@pytest.mark.parametrize(
    ("toy", "text", "message"),
    [
        (ToyModel(), TEXT, "did not tokenise"),
        (ToyModel(has_tokenizer=True), "Once", "A text of one token"),
        (ToyModel(has_tokenizer=True, cut=r"\w+"), TEXT, "do not join"),
    ],
)
async def test_texts_that_the_endpoint_cannot_take_apart_are_refused(
    toy: ToyModel, text: str, message: str
) -> None:
    async with serving(toy.handler) as loopback, aclosing(Connections({})) as connections:
        with pytest.raises(EndpointError, match=message):
            await plan_one_token_scoring(connections, loopback.endpoint(), TextPrompt(text))


async def test_a_failed_request_and_one_without_alternatives_are_named() -> None:
    plan = OneTokenScoring(TextPrompt("a b"), (), (1, 2), (b"a", b" b"))
    async with (
        serving(ToyModel(fails=True).handler) as loopback,
        aclosing(Connections({})) as connections,
    ):
        sent = plan.run(loopback.endpoint(), "", 2)
        await connections.send(loopback.endpoint(), sent)
    with pytest.raises(EndpointError, match="500"):
        plan.scored(sent)
    with pytest.raises(EndpointError, match="no alternatives"):
        plan.scored(sent_with(plan, ()))
