"""Retokenisation of branches: find whether it changes the generated tokens, or send these as ids."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TypeAlias

from workbench.domain.display import show_bytes, visible
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError, EngineError
from workbench.domain.prompt import TextPrompt, TokensPrompt
from workbench.domain.retokenisation import (
    AS_IDS,
    REPLACED,
    GeneratedToken,
    Retokenisation,
    find_retokenisation,
)
from workbench.domain.run import Run
from workbench.runner.branching import Branch, Origin
from workbench.runner.connections import Connections

Tokenize: TypeAlias = Callable[[str, bool], Awaitable[Sequence[tuple[int, bytes]]]]
"""The ids and bytes of a text's tokens; with True as those of a prompt, which may begin with one of its own.

Raises EndpointError or EngineError.
"""
_PATIENCE = 2.0
"""Seconds that a run which is over waits for what is found out beside it."""


def tokenizer_of(connections: Connections, endpoint: Endpoint) -> Tokenize:
    """An endpoint's own tokenizer; that of the embedded model starts it where it does not run."""

    async def tokenize(text: str, as_prompt: bool) -> Sequence[tuple[int, bytes]]:
        return await connections.tokenize(endpoint, text, as_prompt=as_prompt)

    return tokenize


async def retokenisation_of(origin: Origin, tokenize: Tokenize) -> Retokenisation | None:
    """Where a branch that is sent as text has other tokens than were generated.

    Raises what the tokenizer raises.
    """
    if not isinstance(origin.prompt, TextPrompt):
        return None
    before, (text, left) = origin.prompt.text, origin.text
    if left:
        return None
    tokens = [data for _, data in await tokenize(before + text, True)]
    return find_retokenisation(before.encode("utf-8", "surrogatepass"), origin.generated, tokens)


async def with_token_ids(origin: Origin, tokenize: Tokenize) -> Branch:
    """The branch as token ids, so that every token stays the one that was generated.

    Ids that the endpoint did not tell are asked of its tokenizer. Raises BadValueError where a token stays
    unknown, and what the tokenizer raises.
    """
    match origin.prompt:
        case TokensPrompt(before):
            pass
        case TextPrompt(text):
            before = tuple(id for id, _ in await tokenize(text, True))
    more = await _ids_of(origin.generated, tokenize)
    return Branch(TokensPrompt((*before, *more)), origin, AS_IDS)


async def _ids_of(generated: Sequence[GeneratedToken], tokenize: Tokenize) -> list[int]:
    if all(token.id is not None for token in generated):
        return [token.id for token in generated if token.id is not None]
    if unknown := next((token for token in generated if token.id is None and REPLACED in token.raw), None):
        raise _unknown_id(unknown, "The endpoint reported neither its id nor its bytes.")
    tokens = await _tokens(b"".join(token.raw for token in generated), tokenize)
    ends = list(accumulate((len(data) for _, data in tokens), initial=0))
    # By where they begin: the token's number.
    begins = {end: place for place, end in enumerate(ends)}
    ids: list[int] = []
    start = 0
    for token in generated:
        end = start + len(token.raw)
        if token.id is not None:
            ids.append(token.id)
        elif start in begins and end in begins and (begins[end] - begins[start] == 1 or not token.is_single):
            ids += [id for id, _ in tokens[begins[start] : begins[end]]]
        else:
            ids.append(await _id_alone(token, tokenize))
        start = end
    return ids


async def _id_alone(token: GeneratedToken, tokenize: Tokenize) -> int:
    """The id of a token that is one by itself too. Raises BadValueError for any other."""
    match await _tokens(token.raw, tokenize):
        case [(id, data)] if data == token.raw:
            return id
    raise _unknown_id(
        token, "The endpoint did not report it, and its tokenizer splits the text into other tokens."
    )


def _unknown_id(one: GeneratedToken, why: str) -> BadValueError:
    title = f"The id of the token {_shown(one.raw)} is not known"
    return BadValueError(title, why, "Send the branch as text.", field="prompt")


async def _tokens(data: bytes, tokenize: Tokenize) -> Sequence[tuple[int, bytes]]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return []
    return await tokenize(text, False) if text else []


def _shown(raw: bytes) -> str:
    try:
        return f"“{visible(raw.decode())}”"
    except UnicodeDecodeError:
        return show_bytes(raw)


async def note_retokenisation(run: Run, origin: Origin, tokenize: Tokenize) -> None:
    """Note in a run where its prompt's tokens are others than were generated, if a tokenizer can tell."""
    with suppress(EndpointError, EngineError):
        if (change := await retokenisation_of(origin, tokenize)) is not None:
            run.note(change.describe())


async def beside(launching: Awaitable[None], finding: Coroutine[None, None, None]) -> None:
    """Launch a run and find something out beside it, for which an ended run waits a moment."""
    task = asyncio.create_task(finding)
    try:
        await launching
        await asyncio.wait({task}, timeout=_PATIENCE)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
