"""Branch from a run at a token: the branch's prompt, as text or token ids, and its retokenisation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from workbench.domain.choice import Alternative, Choice, token_bytes
from workbench.domain.display import show_bytes, visible
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


class Origin(NamedTuple):
    """The start of a branch: the prompt of its parent run, and the generated tokens before the branch."""

    prompt: TextPrompt | TokensPrompt
    generated: tuple[GeneratedToken, ...]
    """The tokens shared with the parent run, and the alternative that replaces the next token, if any."""
    parent: Parent
    shared: str
    """The text of the shared tokens, as the endpoint sent it."""
    incomplete: bytes
    """The incomplete UTF-8 sequence at the end of the shared tokens."""
    taken: bytes
    """The alternative's bytes; empty without an alternative."""

    @property
    def is_replaced(self) -> bool:
        """Whether the endpoint sent U+FFFD instead of bytes that the branch needs."""
        return REPLACED in self.shared.encode("utf-8", "surrogatepass") + self.incomplete + self.taken

    @property
    def text(self) -> tuple[str, bytes]:
        """The generated text, and any bytes at its end that are not valid UTF-8."""
        data = self.incomplete + self.taken
        try:
            return self.shared + data.decode(), b""
        except UnicodeDecodeError as error:
            return self.shared + data[: error.start].decode(), data[error.start :]


class Branch(NamedTuple):
    """The prompt of a branch, and its origin."""

    prompt: TextPrompt | TokensPrompt
    origin: Origin
    note: str = ""
    """A remark on the prompt for the person."""

    @property
    def parent(self) -> Parent:
        """The parent run and the position of the branch in it."""
        return self.origin.parent

    @property
    def branch_point(self) -> Origin | None:
        """The origin if the prompt is text, and so may be retokenised; None for token ids."""
        return self.origin if isinstance(self.prompt, TextPrompt) else None


def origin_of(run: Run, choice: Choice, position: int, alternative: Alternative) -> Origin:
    """Return the origin of a branch that replaces a token by an alternative."""
    parent = Parent(run.id, choice.index, position, alternative.text)
    taken = token_bytes(alternative.text, alternative.raw)
    known = GeneratedToken(taken, id=alternative.id)
    generated = (*_shared(choice, position), known)
    return Origin(run.prompt_of(choice), generated, parent, *_text(choice, position), taken)


def end_of(run: Run, choice: Choice) -> Origin:
    """Return the origin of a branch that continues a choice from its end."""
    end = len(choice)
    parent = Parent(run.id, choice.index, end, kind="continue")
    generated = tuple(_shared(choice, end))
    return Origin(run.prompt_of(choice), generated, parent, *_text(choice, end), b"")


def _text(choice: Choice, position: int) -> tuple[str, bytes]:
    """Return the text of the tokens before a position, and the incomplete UTF-8 sequence at their end."""
    first = position
    while first > choice.echoed and not choice.text_of(first - 1):
        first -= 1
    incomplete = b"".join(choice.raw_of(index) or b"" for index in range(first, position))
    return "".join(choice.texts(choice.echoed, position)), incomplete


def branch_at(run: Run, choice: Choice, position: int, alternative: Alternative) -> Branch:
    """Return a branch that replaces a token by an alternative, for any kind of prompt.

    Raises BadValueError if an id of a token prompt is unknown, or if a text prompt needs unknown bytes or
    would end within a character.
    """
    return branch_from(origin_of(run, choice, position, alternative))


def branch_from(origin: Origin) -> Branch:
    """Return a branch in the form of its run's prompt: as text or as token ids.

    Raises BadValueError like `branch_at`.
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
    # Skip the echoed prompt, which is sent as the prompt.
    incomplete = b""
    for index in range(choice.echoed, position):
        text, raw = choice.text_of(index), choice.raw_of(index)
        # The token that completes a character adds all of it to the text; the tokens before add nothing.
        # If text and bytes disagree, use the text: the reported bytes of some endpoints are unreliable.
        whole = text.encode("utf-8", "surrogatepass")
        data = raw if raw is not None and (not text or incomplete + raw == whole) else whole
        incomplete = incomplete + data if not text else b""
        yield GeneratedToken(data, choice.logprob_of(index) is not None, choice.id_of(index))


Tokenize: TypeAlias = Callable[[str, bool], Awaitable[Sequence[tuple[int, bytes]]]]
"""Returns the ids and bytes of a text's tokens; True adds special tokens, as for a prompt.

Raises EndpointError or EngineError.
"""
_PATIENCE = 2.0
"""Seconds that a finished run waits for its retokenisation note."""


async def retokenisation_of(origin: Origin, tokenize: Tokenize) -> Retokenisation | None:
    """Find where a branch sent as text is tokenised differently than it was generated; None if nowhere.

    Also returns None for token ids and incomplete text. Raises the tokenizer's errors.
    """
    if not isinstance(origin.prompt, TextPrompt):
        return None
    before, (text, left) = origin.prompt.text, origin.text
    if left:
        return None
    tokens = [data for _, data in await tokenize(before + text, True)]
    return find_retokenisation(before.encode("utf-8", "surrogatepass"), origin.generated, tokens)


async def with_token_ids(origin: Origin, tokenize: Tokenize) -> Branch:
    """Return the branch as token ids, which preserve the generated tokens.

    The tokenizer supplies ids that the endpoint did not report. Raises BadValueError if a token's id remains
    unknown, and the tokenizer's errors.
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
    # Maps the byte offset of a token boundary to the index of the token that starts there.
    begins = {end: number for number, end in enumerate(ends)}
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
    """Return the id of a token whose bytes alone tokenise to it. Raises BadValueError otherwise."""
    match await _tokens(token.raw, tokenize):
        case [(id, data)] if data == token.raw:
            return id
    raise _unknown_id(
        token, "The endpoint did not report it, and its tokenizer splits the text into other tokens."
    )


def _unknown_id(token: GeneratedToken, why: str) -> BadValueError:
    title = f"The id of the token {_shown(token.raw)} is not known"
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
    """Note on a run where its prompt was retokenised, unless the tokenizer fails."""
    with suppress(EndpointError, EngineError):
        if (change := await retokenisation_of(origin, tokenize)) is not None:
            run.note(change.describe())


async def beside(launching: Awaitable[None], finding: Coroutine[None, None, None]) -> None:
    """Send a run while another coroutine runs beside it; wait at most `_PATIENCE` seconds for the latter."""
    task = asyncio.create_task(finding)
    try:
        await launching
        await asyncio.wait({task}, timeout=_PATIENCE)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
