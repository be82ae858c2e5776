"""Branching from a run at a token: the prompt of the branch, as text or as ids, and its retokenisation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from workbench.domain.choice import Alternative, Choice, token_bytes
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
from workbench.domain.run import Parent, Run
from workbench.runner.connections import Connections


class Origin(NamedTuple):
    """What a branch continues: the prompt of the run it branched from, and tokens that were generated."""

    prompt: TextPrompt | TokensPrompt
    generated: tuple[GeneratedToken, ...]
    """The tokens that it shares, and the alternative taken in the next one's place."""
    parent: Parent
    shared: str
    """The text of the tokens that it shares, as the endpoint sent it."""
    incomplete: bytes
    """What stands after that, of a character that they began and did not end."""
    taken: bytes
    """The alternative's bytes; none where there is none."""

    @property
    def is_replaced(self) -> bool:
        """Whether the endpoint sent U+FFFD in the place of bytes that would have to be sent."""
        return REPLACED in self.shared.encode("utf-8", "surrogatepass") + self.incomplete + self.taken

    @property
    def text(self) -> tuple[str, bytes]:
        """What was generated as text, and the bytes at its end that are none."""
        data = self.incomplete + self.taken
        try:
            return self.shared + data.decode(), b""
        except UnicodeDecodeError as error:
            return self.shared + data[: error.start].decode(), data[error.start :]


class Branch(NamedTuple):
    """What a branch sends, and where it comes from."""

    prompt: TextPrompt | TokensPrompt
    origin: Origin
    note: str = ""
    """What a person should know of the prompt."""

    @property
    def parent(self) -> Parent:
        """Where it diverges from another run."""
        return self.origin.parent

    @property
    def branch_point(self) -> Origin | None:
        """What it continues, where that may be retokenised: it is sent as text."""
        return self.origin if isinstance(self.prompt, TextPrompt) else None


def origin_of(run: Run, choice: Choice, position: int, alternative: Alternative) -> Origin:
    """What a branch with an alternative in the place of a token continues."""
    parent = Parent(run.id, choice.index, position, alternative.text)
    taken = token_bytes(alternative.text, alternative.raw)
    known = GeneratedToken(taken, id=alternative.id)
    generated = (*_shared(choice, position), known)
    return Origin(run.prompt_of(choice), generated, parent, *_text(choice, position), taken)


def end_of(run: Run, choice: Choice) -> Origin:
    """What a branch from the end of a choice continues."""
    end = len(choice)
    parent = Parent(run.id, choice.index, end, kind="continue")
    generated = tuple(_shared(choice, end))
    return Origin(run.prompt_of(choice), generated, parent, *_text(choice, end), b"")


def _text(choice: Choice, position: int) -> tuple[str, bytes]:
    """The text of the tokens before one, and the bytes of a character that the last of them began."""
    first = position
    while first > choice.echoed and not choice.text_of(first - 1):
        first -= 1
    incomplete = b"".join(choice.raw_of(index) or b"" for index in range(first, position))
    return "".join(choice.texts(choice.echoed, position)), incomplete


def branch_at(run: Run, choice: Choice, position: int, alternative: Alternative) -> Branch:
    """A branch with an alternative in the place of a token, for every kind of prompt.

    Raises BadValueError where the prompt is token ids and an id is unknown, or where it is text that would
    end within a character.
    """
    return branch_from(origin_of(run, choice, position, alternative))


def branch_from(origin: Origin) -> Branch:
    """The branch as its run's prompt was sent: text as text, token ids as token ids.

    Raises BadValueError as `branch_at` does.
    """
    match origin.prompt:
        case TextPrompt(before):
            text, left = origin.text
            if origin.is_replaced and origin.parent.kind != "continue":
                raise BadValueError(
                    "The bytes of a token are unknown",
                    "The endpoint reported U+FFFD in their place, which is not what the model generated.",
                    "Choose another token, or send branches as token ids.",
                    field="prompt",
                )
            if left and origin.parent.kind != "continue":
                raise BadValueError(
                    "The prompt would end within a character",
                    f"{show_bytes(left)} cannot be sent as text.",
                    "Choose another alternative, or send branches as token ids.",
                    field="prompt",
                )
            note = f"{show_bytes(left)} began a character and was not sent" if left else ""
            return Branch(TextPrompt(before + text), origin, note)
        case TokensPrompt(ids):
            more = [token.id for token in origin.generated if token.id is not None]
            if len(more) < len(origin.generated):
                raise BadValueError(
                    "The endpoint returned no token ids, so this run cannot be continued as token ids",
                    hint="Send the prompt as text to branch or continue.",
                    field="prompt",
                )
            return Branch(TokensPrompt((*ids, *more)), origin)


def _shared(choice: Choice, position: int) -> Iterator[GeneratedToken]:
    # An echoed prompt is part of the choice's text already.
    incomplete = b""
    for index in range(choice.echoed, position):
        text, raw = choice.text_of(index), choice.raw_of(index)
        # A token that ends a character adds all of it to the text, and what began it added nothing. Where
        # the two do not fit together the text counts: some endpoints spell tokens otherwise.
        whole = text.encode("utf-8", "surrogatepass")
        data = raw if raw is not None and (not text or incomplete + raw == whole) else whole
        incomplete = incomplete + data if not text else b""
        yield GeneratedToken(data, choice.logprob_of(index) is not None, choice.id_of(index))


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
