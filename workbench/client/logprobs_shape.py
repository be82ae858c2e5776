"""Which of the shapes of logprobs an answer has, from its bytes."""

from __future__ import annotations

import re

_SHAPES = {
    "as a list of tokens (chat format)": re.compile(rb'"logprobs"\s*:\s*\{\s*"content"\s*:\s*\['),
    "as parallel arrays": re.compile(rb'"logprobs"\s*:\s*\{[^{}]*"(?:tokens|token_logprobs|text_offset)"'),
    "as one number per chunk": re.compile(rb'"logprobs"\s*:\s*-?\d'),
}


def logprobs_shape(answer: bytes) -> str:
    """In words how the logprobs of an answer come; empty where there are none in a shape that is known."""
    found = ((match.start(), words) for words, one in _SHAPES.items() if (match := one.search(answer)))
    return min(found, default=(0, ""))[1]
