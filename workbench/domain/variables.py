"""Variables in prompts: `{{name}}`, replaced by a text and by nothing cleverer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLE = re.compile(r"\{\{([^\W\d][\w-]*)\}\}")


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its variables filled in."""

    text: str
    unknown: tuple[str, ...] = ()
    """Variables without a value, in order; they stay in the text as they were."""


def find_variables(text: str) -> tuple[str, ...]:
    """The names of the variables in a text, each once, in order of appearance.

    A name is letters, digits, `_` and `-`, begins with a letter or `_`, and touches its braces.
    """
    return tuple(dict.fromkeys(_VARIABLE.findall(text)))


def fill(text: str, values: Mapping[str, str]) -> Filled:
    """Replace every variable that has a value; what a value holds is not looked into again."""
    filled = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)
    return Filled(filled, tuple(name for name in find_variables(text) if name not in values))
