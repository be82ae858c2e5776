"""Rendered prompts, and the special tokens in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.domain.conversation import Conversation


class SpecialToken(NamedTuple):
    """A special token in a prompt, or its equivalent in plain formats (`### Response:`)."""

    start: int
    """Offset in characters."""
    end: int
    injected: bool = False
    """Whether it comes from the text of a turn; the endpoint still treats it as special."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The exact prompt of a conversation."""

    prompt: str
    stop: tuple[str, ...]
    """Stop sequences."""
    specials: tuple[SpecialToken, ...] = ()
    """In order, not overlapping."""
    bos: str = ""
    """The begin-of-text token at the start of the prompt; empty if there is none."""

    def without_bos(self) -> Rendered:
        """Return a copy without the begin-of-text token, for endpoints that add it to every prompt."""
        cut = len(self.bos)
        if not cut:
            return self
        kept = tuple(
            SpecialToken(start - cut, end - cut, injected)
            for start, end, injected in self.specials
            if start >= cut
        )
        return Rendered(self.prompt[cut:], self.stop, kept)


def find_specials(prompt: str, conversation: Conversation, known: Iterable[str]) -> tuple[SpecialToken, ...]:
    """Find the special tokens in a prompt, preferring the longer of two that start at the same offset."""
    longest_first = sorted(filter(None, set(known)), key=lambda special: (-len(special), special))
    if not longest_first:
        return ()
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    found = [match.span() for match in pattern.finditer(prompt)]
    turns = _turns_with_specials(prompt, conversation, pattern)
    return tuple(
        SpecialToken(start, end, any(a <= start and end <= b for a, b in turns)) for start, end in found
    )


def _turns_with_specials(
    prompt: str, conversation: Conversation, pattern: re.Pattern[str]
) -> Sequence[tuple[int, int]]:
    """Return the spans in the prompt of the turns whose text contains special tokens."""
    texts = [
        conversation.system or "",
        *(message.text for message in conversation.messages),
        conversation.prefill,
    ]
    found: list[tuple[int, int]] = []
    at = 0
    for text in (text.strip() for text in texts):
        if pattern.search(text) and (start := prompt.find(text, at)) >= 0:
            at = start + len(text)
            found.append((start, at))
    return found
