"""What a template makes of a conversation, with the special tokens in it found again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.domain.conversation import Conversation

_BARRED = re.compile(r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜\s]{1,40}｜>")
_USUAL = re.compile(
    r"</?s>|<(?:bos|eos|pad|unk)>|</?think>|<(?:start|end)_of_turn>|<</?SYS>>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)


class SpecialToken(NamedTuple):
    """A special token in a prompt, or what plays its part in plain formats (`### Response:`)."""

    start: int
    """In characters."""
    end: int
    injected: bool = False
    """Whether a turn's own text holds it: the endpoint will read it as special all the same."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The exact prompt of a conversation."""

    prompt: str
    stop: tuple[str, ...]
    """Texts at which the answer ends."""
    specials: tuple[SpecialToken, ...] = ()
    """In order, not overlapping."""
    bos: str = ""
    """The begin-of-text token that the prompt starts with; empty where it starts with none."""

    def without_bos(self) -> Rendered:
        """The same without the begin-of-text token, for endpoints that put one before every prompt."""
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
    """Where the special tokens in a prompt are; the longer one where two begin at one place."""
    longest_first = sorted({one for one in known if one}, key=lambda one: (-len(one), one))
    if not longest_first:
        return ()
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    found = [match.span() for match in pattern.finditer(prompt)]
    turns = _turns_with_specials(prompt, conversation, pattern)
    if not turns:
        return tuple(SpecialToken(start, end) for start, end in found)
    return tuple(
        SpecialToken(start, end, any(a <= start and end <= b for a, b in turns)) for start, end in found
    )


def likely_specials(source: str, prompt: str) -> set[str]:
    """What is probably a special token of a Jinja template whose tokenizer tells of none.

    Those of the usual forms that the template spells out, and all in bars, which some templates put together.
    """
    return {*_USUAL.findall(source), *_BARRED.findall(source), *_BARRED.findall(prompt)}


def _turns_with_specials(
    prompt: str, conversation: Conversation, pattern: re.Pattern[str]
) -> Sequence[tuple[int, int]]:
    """Where the prompt holds those turns whose own text has special tokens in it."""
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
