"""Branching: the prompt of a run that branches from another one at a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from workbench.domain.choice import Alternative, Choice, token_bytes
from workbench.domain.display import show_bytes
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TokensPrompt
from workbench.domain.retokenisation import REPLACED, GeneratedToken
from workbench.domain.run import Parent, Run


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
