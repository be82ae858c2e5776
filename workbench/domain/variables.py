"""Variables in prompts: `{{name}}`, replaced by plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.domain.errors import BadValueError
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt

_VARIABLE = re.compile(r"\{\{([^\W\d][\w-]*)\}\}")


class Filled(NamedTuple):
    """A text with its variables filled in."""

    text: str
    unknown: tuple[str, ...] = ()
    """Variables without a value, in order; they are left in the text."""


def find_variables(text: str) -> tuple[str, ...]:
    """Return the distinct variable names in a text, in order of appearance.

    A name consists of letters, digits, `_` and `-`, begins with a letter or `_`, and touches its braces.
    """
    return tuple(dict.fromkeys(_VARIABLE.findall(text)))


def fill(text: str, values: Mapping[str, str]) -> Filled:
    """Replace every variable that has a value; variables within values are not replaced."""
    filled = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)
    return Filled(filled, tuple(name for name in find_variables(text) if name not in values))


def fill_prompt(prompt: Prompt, values: Mapping[str, str]) -> Prompt:
    """Fill in a prompt's variables; a prompt of token ids has none, and without values nothing is filled in.

    Raises BadValueError, which names the variables without a value, unless `values` is empty.
    """
    if not values:
        return prompt
    match prompt:
        case TextPrompt(text):
            return TextPrompt(_filled(text, values))
        case TextsPrompt(texts):
            return TextsPrompt(tuple(_filled(text, values) for text in texts))
        case _:
            return prompt


def _filled(text: str, values: Mapping[str, str]) -> str:
    filled = fill(text, values)
    if filled.unknown:
        raise unfilled(filled.unknown)
    return filled.text


def unfilled(names: Sequence[str]) -> BadValueError:
    """Return the error for variables without a value."""
    return BadValueError(
        f"No value for {', '.join(names)}",
        "Variables are filled in as soon as one has a value.",
        "Set it with Variables in the palette or with --var. "
        "To send it unchanged, set it to its own name in braces.",
        field="variables",
    )
