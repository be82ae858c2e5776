"""Retokenisation at a branch point: a prompt and its continuation may tokenise differently together.

A model reads tokens, not text. `light` and `house`, generated one after the other, come back as one token
`lighthouse` once they stand in a prompt, and the model then sees what it never said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from workbench.domain.display import show_bytes, visible

RETOKENISED = "retokenised at the branch point: "
"""How the note of a retokenised branch point begins."""
AS_IDS = "sent as token ids: every token stays the one that was generated"
"""The note of a run whose branch point cannot retokenise."""
REPLACED = "\ufffd".encode()
"""What endpoints report in the place of bytes that they cannot decode."""
_MOST_TOKENS, _MOST_CHARACTERS = 6, 24


class GeneratedToken(NamedTuple):
    """A token as it was generated."""

    raw: bytes
    is_single: bool = True
    """Whether it is certainly one token; what an endpoint reports as one token may be several."""
    id: int | None = None
    """Where the endpoint reported it."""


class Retokenisation(NamedTuple):
    """Tokens around a branch point that became other ones."""

    was: tuple[bytes, ...]
    """The tokens generated there, the first of which may be the end of the prompt."""
    now: tuple[bytes, ...]
    """The tokens that their text makes up in a prompt."""

    def describe(self) -> str:
        """The note that a run keeps of it."""
        return f"{RETOKENISED}{_listed(self.was)} → {_listed(self.now)}"


def find_retokenisation(
    prompt: bytes, generated: Sequence[GeneratedToken], tokens: Sequence[bytes]
) -> Retokenisation | None:
    """The first place at which the tokens of a text are others than those it was generated as.

    `prompt` is the text before, `tokens` are those of the whole text. None where all stay, and where the
    tokens do not join to the text, as those of some tokenizers do not.
    """
    text = prompt + b"".join(token.raw for token in generated)
    joined = b"".join(tokens)
    if not joined.endswith(text):
        return None
    # Some tokenizers put a blank or a token of their own before everything.
    ends = [end - (len(joined) - len(text)) for end in accumulate(map(len, tokens))]
    own = list(accumulate((len(token.raw) for token in generated), initial=len(prompt)))
    if (first := _first_change(own, generated, ends)) is None:
        return None
    last = min((end for end in set(own) & set(ends) if end > first), default=len(text))
    return Retokenisation(_cut(text, own, first, last), _cut(text, ends, first, last))


def _first_change(own: Sequence[int], generated: Sequence[GeneratedToken], ends: Sequence[int]) -> int | None:
    """Where the first token begins that is another one now; its part of the prompt counts too."""
    places = set(ends)
    if own[0] and own[0] not in places:
        return max((end for end in ends if 0 < end < own[0]), default=0)
    for (start, end), token in zip(pairwise(own), generated, strict=True):
        if end not in places or (token.is_single and any(at in places for at in range(start + 1, end))):
            return start
    return None


def _cut(text: bytes, ends: Sequence[int], first: int, last: int) -> tuple[bytes, ...]:
    """The parts of a text between two places, cut at the ends that lie between them."""
    places = [first, *(end for end in ends if first < end < last), last]
    return tuple(text[start:stop] for start, stop in pairwise(places))


def _listed(tokens: Sequence[bytes]) -> str:
    shown = [_shown(token) for token in tokens[:_MOST_TOKENS]]
    return " + ".join(shown) + " + …" * (len(tokens) > _MOST_TOKENS)


def _shown(raw: bytes) -> str:
    try:
        text = visible(raw.decode()).replace("\n", "⏎").replace("\t", "→")
    except UnicodeDecodeError:
        return show_bytes(raw)
    return f"“{text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + '…'}”"
