"""Joints of branches: told where tokens became other ones, and kept where token ids are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from tests.client.loopback import answering, serving
from tests.domain.builders import choice_of, run_of
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError
from workbench.domain.prompt import Prompt, TextPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.retokenisation import AS_IDS, RETOKENISED
from workbench.domain.run import Run
from workbench.runner.branching import (
    Origin,
    Tokenize,
    beside,
    end_of,
    note_retokenisation,
    origin_of,
    retokenisation_of,
    with_token_ids,
)
from workbench.runner.connections import Connections

VOCABULARY = [" lighthouse", " light", "house", "Once", " a", " on", "h", "o", "u", "s", "e"]


async def tokenize(text: str, as_prompt: bool) -> Sequence[tuple[int, bytes]]:
    """A tokenizer that takes the first of its tokens that fits; a prompt begins with token 99."""
    found = [(99, b"")] if as_prompt else []
    while text:
        id, token = next((id, known) for id, known in enumerate(VOCABULARY) if text.startswith(known))
        found.append((id, token.encode()))
        text = text[len(token) :]
    return found


def leaving(*pieces: ReceivedToken, prompt: Prompt | None = None) -> Origin:
    """The end of an answer to "Once" made of pieces."""
    run = run_of(choice_of(pieces))
    run.request = Request(prompt or TextPrompt("Once"))
    return end_of(run, run.choices[0])


def token_of(text: str, id: int | None = None) -> ReceivedToken:
    """A token with a logprob."""
    return ReceivedToken(text, -0.5, (), id)


async def test_a_branch_point_that_keeps_its_tokens_is_not_noted() -> None:
    assert await retokenisation_of(leaving(token_of(" a"), token_of(" light")), tokenize) is None
    assert (
        await retokenisation_of(
            leaving(token_of(" light"), token_of("house"), prompt=TokensPrompt((1,))), tokenize
        )
        is None
    )


async def test_a_changed_joint_is_noted_in_the_run() -> None:
    run = run_of(choice_of([]))
    await note_retokenisation(run, leaving(token_of(" a"), token_of(" light"), token_of("house")), tokenize)
    assert run.notes == [f"{RETOKENISED}“ light” + “house” → “ lighthouse”"]


async def test_a_tokenizer_that_does_not_answer_leaves_no_note() -> None:
    async def refuse(text: str, as_prompt: bool) -> Sequence[tuple[int, bytes]]:
        raise EndpointError("no")

    run = run_of(choice_of([]))
    await note_retokenisation(run, leaving(token_of(" light"), token_of("house")), refuse)
    assert run.notes == []


async def test_token_ids_that_nobody_told_are_asked_of_the_tokenizer() -> None:
    branch = await with_token_ids(leaving(token_of(" a"), token_of(" light"), token_of("house")), tokenize)
    assert branch.prompt == TokensPrompt((99, 3, 4, 1, 2))
    assert (branch.note, branch.branch_point) == (AS_IDS, None)


async def test_ids_that_the_endpoint_told_win() -> None:
    run = run_of(choice_of([token_of(" light", 7)]))
    run.request = Request(TokensPrompt((5, 6)))
    origin = origin_of(run, run.choices[0], 1, Alternative("house", -1.0, 8))
    assert (await with_token_ids(origin, _never)).prompt == TokensPrompt((5, 6, 7, 8))


async def test_a_piece_of_several_tokens_goes_as_all_of_them() -> None:
    branch = await with_token_ids(leaving(ReceivedToken(" lighthouse on")), tokenize)
    assert branch.prompt == TokensPrompt((99, 3, 0, 5))


async def test_a_token_that_stays_unknown_is_refused_by_name() -> None:
    with pytest.raises(BadValueError, match="“hous”") as refused:
        await with_token_ids(leaving(token_of(" a"), token_of("hous")), tokenize)
    assert "as text" in refused.value.hint
    with pytest.raises(BadValueError, match=r"\\xf0"):
        await with_token_ids(leaving(ReceivedToken("", -0.5, raw=b"\xf0")), tokenize)


async def _never(text: str, as_prompt: bool) -> Sequence[tuple[int, bytes]]:
    raise AssertionError


async def test_an_endpoint_s_tokenizer_is_asked_for_the_tokens_of_prompts() -> None:
    body = b'{"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [226, 128]}]}'
    async with serving(answering(body, content_type="application/json")) as server:
        connections = Connections({})
        ask: Tokenize = partial(connections.tokenize, server.endpoint(tokenizer=True))
        assert await ask("a", True) == [(1, b"a"), (2, b"\xe2\x80")]
        assert server.requests[0].json["add_special"] is True
        await connections.aclose()


async def test_an_endpoint_without_a_tokenizer_is_not_asked() -> None:
    ask = partial(Connections({}).tokenize, Endpoint("plain", "http://127.0.0.1:9"))
    with pytest.raises(EndpointError, match="plain has no tokenizer"):
        await ask("a", True)


async def test_what_is_found_beside_a_run_is_there_when_the_run_is_over() -> None:
    run = Run(Request(TextPrompt("Once")))
    over = asyncio.Event()

    async def launching() -> None:
        over.set()

    async def finding() -> None:
        await over.wait()
        run.note("found")

    await beside(launching(), finding())
    assert run.notes == ["found"]
