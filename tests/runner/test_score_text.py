"""An answer scored by another endpoint, after its prompt as token ids or as text."""

from __future__ import annotations

import json
from contextlib import aclosing

import pytest

from tests.client.loopback import JSON, answering, serving
from tests.domain.builders import choice_of, run_of
from workbench.domain.choice import ReceivedToken
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TokensPrompt
from workbench.domain.request import Request
from workbench.domain.scoring import align_scorings, common_positions
from workbench.runner.connections import Connections
from workbench.runner.score_text import aligned_runs, score_answer


def echo(*texts: str) -> bytes:
    """The whole answer to a scoring request, each token a nat less likely than the one before."""
    logprobs: list[float | None] = [None, *(-float(index) for index in range(1, len(texts)))]
    listed = {"tokens": texts, "token_logprobs": logprobs, "top_logprobs": [None] * len(texts)}
    choice = {"index": 0, "text": "".join(texts), "finish_reason": "length", "logprobs": listed}
    return json.dumps({"id": "x", "choices": [choice]}).encode()


async def test_an_answer_follows_its_prompt_as_token_ids_where_all_are_known() -> None:
    run = run_of(choice_of([ReceivedToken("c", -0.5, id=3), ReceivedToken("d", -0.5, id=4)]))
    run.request = Request(TokensPrompt((1, 2)))
    async with (
        serving(answering(echo("a", "b", "c", "d", "e"), content_type=JSON)) as loopback,
        aclosing(Connections({})) as connections,
    ):
        own, scored = await score_answer(connections, loopback.endpoint(), run, run.choices[0])
        assert loopback.requests[0].json["prompt"] == [1, 2, 3, 4]
    assert list(common_positions(own, scored)) == [(0, 2), (1, 3), (2, 4)]
    assert [span.surprisals for span in align_scorings(own, scored)] == [(0.5, 2.0), (0.5, 3.0)]


async def test_an_answer_to_token_ids_whose_own_ids_are_unknown_cannot_be_scored() -> None:
    run = run_of(choice_of(["c"]))
    run.request = Request(TokensPrompt((1, 2)))
    async with aclosing(Connections({})) as connections, serving(answering(b"")) as loopback:
        with pytest.raises(BadValueError, match="token ids"):
            await score_answer(connections, loopback.endpoint(), run, run.choices[0])
        assert loopback.requests == []


async def test_an_answer_to_text_is_aligned_where_other_tokens_cross_its_beginning() -> None:
    run = run_of(
        choice_of([ReceivedToken(" up", -0.5), ReceivedToken("on", -0.5), ReceivedToken(" a", -0.5)]),
        prompt="Once",
    )
    async with (
        serving(answering(echo("On", "ce up", "on", " a", "!"), content_type=JSON)) as loopback,
        aclosing(Connections({})) as connections,
    ):
        own, scored = await score_answer(connections, loopback.endpoint(), run, run.choices[0])
        assert loopback.requests[0].json["prompt"] == "Once upon a"
    first, second = aligned_runs(run, own, scored)
    assert first.choices[0].texts() == second.choices[0].texts() == ["on", " a"]
    assert list(second.choices[0].logprobs) == [-2.0, -3.0]
