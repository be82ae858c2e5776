"""The four kinds of prompt, and their conversion to and from JSON and the editor's text."""

import re
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue


class PromptKind(StrEnum):
    """The type of a prompt's content."""

    TEXT = "text"
    TEXTS = "texts"
    TOKENS = "token ids"
    TOKEN_LISTS = "lists of token ids"


class TextPrompt(NamedTuple):
    """A single text."""

    text: str


class TextsPrompt(NamedTuple):
    """Several texts, each with its own answer."""

    texts: tuple[str, ...]


class TokensPrompt(NamedTuple):
    """A single text as token ids."""

    ids: tuple[int, ...]


class TokenListsPrompt(NamedTuple):
    """Several texts as token ids, each with its own answer."""

    lists: tuple[tuple[int, ...], ...]


Prompt: TypeAlias = TextPrompt | TextsPrompt | TokensPrompt | TokenListsPrompt


_KINDS: dict[type[Prompt], PromptKind] = {
    TextPrompt: PromptKind.TEXT,
    TextsPrompt: PromptKind.TEXTS,
    TokensPrompt: PromptKind.TOKENS,
    TokenListsPrompt: PromptKind.TOKEN_LISTS,
}


def kind_of(prompt: Prompt) -> PromptKind:
    """Return the kind of a prompt."""
    return _KINDS[type(prompt)]


def count_prompts(prompt: Prompt) -> int:
    """Return the number of single prompts."""
    return len(single_prompts(prompt))


def single_prompts(prompt: Prompt) -> tuple[TextPrompt | TokensPrompt, ...]:
    """Return the single prompts, in the order that choice indexes follow."""
    match prompt:
        case TextsPrompt(texts):
            return tuple(map(TextPrompt, texts))
        case TokenListsPrompt(lists):
            return tuple(map(TokensPrompt, lists))
        case _:
            return (prompt,)


def join_prompts(prompts: tuple[TextPrompt | TokensPrompt, ...]) -> Prompt:
    """Combine prompts of the same kind; a single prompt is returned unchanged.

    Raises BadValueError for an empty or mixed tuple.
    """
    if len(prompts) == 1:
        return prompts[0]
    texts = tuple(prompt.text for prompt in prompts if isinstance(prompt, TextPrompt))
    lists = tuple(prompt.ids for prompt in prompts if isinstance(prompt, TokensPrompt))
    if prompts and len(texts) == len(prompts):
        return TextsPrompt(texts)
    if prompts and len(lists) == len(prompts):
        return TokenListsPrompt(lists)
    raise _bad("prompts must be all strings or all lists of token ids, and at least one")


def prompt_to_json(prompt: Prompt) -> JsonValue:
    """Return the prompt as a request body's value; a single text becomes a string."""
    match prompt:
        case TextPrompt(text):
            return text
        case TextsPrompt(items) | TokensPrompt(items):
            return list(items)
        case TokenListsPrompt(lists):
            return [list(ids) for ids in lists]


def prompt_from_json(value: JsonValue) -> Prompt:
    """Parse the prompt of a request body or a session file.

    Raises BadValueError for anything but the four kinds, including an empty list.
    """
    if isinstance(value, str):
        return TextPrompt(value)
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(item, str) for item in value):
            return TextsPrompt(tuple(text for text in value if isinstance(text, str)))
        if (ids := _ids(value)) is not None:
            return TokensPrompt(ids)
        lists = [_ids(item) for item in value]
        if all(lists):
            return TokenListsPrompt(tuple(token_ids for token_ids in lists if token_ids))
    raise _bad(
        "must be a string, a list of strings, a list of token ids, or a list of such lists, and not empty"
    )


_SEPARATOR = "---"
_ESCAPED = r"(?m)^(\\*---)$"
_ID = r"[0-9]{1,18}"


def prompt_to_editor(prompt: Prompt) -> str:
    """Return the prompt as editor text: texts separated by a line `---`, ids by commas, lists by newlines.

    Lossless: a line `---` within a text is escaped as `\\---`, and a line `\\---` by one more backslash.
    """
    match prompt:
        case TextPrompt(text):
            return text
        case TextsPrompt(texts):
            return f"\n{_SEPARATOR}\n".join(re.sub(_ESCAPED, r"\\\1", text) for text in texts)
        case TokensPrompt(ids):
            return ", ".join(map(str, ids))
        case TokenListsPrompt(lists):
            return "\n".join(", ".join(map(str, ids)) for ids in lists)


def prompt_from_editor(kind: PromptKind, text: str) -> Prompt:
    """Parse the editor's text as a prompt of a kind; the inverse of `prompt_to_editor`.

    Raises BadValueError for an invalid or missing token id.
    """
    match kind:
        case PromptKind.TEXT:
            return TextPrompt(text)
        case PromptKind.TEXTS:
            parts: list[list[str]] = [[]]
            for line in text.split("\n"):
                if line == _SEPARATOR:
                    parts.append([])
                else:
                    escaped = line.startswith("\\") and re.fullmatch(_ESCAPED, line)
                    parts[-1].append(line[1:] if escaped else line)
            return TextsPrompt(tuple("\n".join(part) for part in parts))
        case PromptKind.TOKENS:
            return TokensPrompt(parse_ids(text))
        case PromptKind.TOKEN_LISTS:
            lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
            if not lines:
                raise _bad("holds no token ids")
            return TokenListsPrompt(tuple(parse_ids(line, number) for number, line in lines))


def parse_ids(text: str, line: int | None = None) -> tuple[int, ...]:
    """Parse token ids separated by commas or whitespace, with or without brackets.

    Raises BadValueError, which names the invalid token id; `line` is mentioned in its message.
    """
    parts = text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    where = f" in line {line}" if line is not None else ""
    for part in parts:
        if not re.fullmatch(_ID, part):
            raise _bad(f"{part[:40]!r}{where} is not a token id")
    if not parts:
        raise _bad(f"holds no token ids{where}")
    return tuple(map(int, parts))


def _ids(value: JsonValue) -> tuple[int, ...] | None:
    if not isinstance(value, (list, tuple)):
        return None
    ids = tuple(id for id in value if isinstance(id, int) and not isinstance(id, bool) and 0 <= id < 2**63)
    return ids if len(ids) == len(value) else None


def _bad(why: str) -> BadValueError:
    return BadValueError(
        f"prompt: {why}", hint="Token ids are whole numbers, such as 1, 2, 3.", field="prompt"
    )
