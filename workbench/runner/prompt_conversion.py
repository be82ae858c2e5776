"""Convert prompts between texts and token ids with an endpoint's tokenizer."""

from __future__ import annotations

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import (
    Prompt,
    PromptKind,
    TextPrompt,
    TextsPrompt,
    TokenListsPrompt,
    TokensPrompt,
    single_prompts,
)
from workbench.runner.connections import Connections


def holds_ids(kind: PromptKind) -> bool:
    """Whether prompts of a kind consist of token ids."""
    return kind in (PromptKind.TOKENS, PromptKind.TOKEN_LISTS)


async def converted(connections: Connections, endpoint: Endpoint, prompt: Prompt, kind: PromptKind) -> Prompt:
    """Convert a prompt to another kind, between texts and token ids.

    Raises BadValueError if several prompts would have to become one, or if a text would not give the same
    token ids again; EndpointError or EngineError if the tokenizer fails.
    """
    prompts = single_prompts(prompt)
    if len(prompts) > 1 and kind in (PromptKind.TEXT, PromptKind.TOKENS):
        several = PromptKind.TOKEN_LISTS if holds_ids(kind) else PromptKind.TEXTS
        raise BadValueError(
            f"There are {len(prompts)} prompts", hint=f"Choose {several}, or delete all but one."
        )
    if holds_ids(kind):
        lists = [await _ids(connections, endpoint, single) for single in prompts]
        return TokensPrompt(lists[0]) if kind is PromptKind.TOKENS else TokenListsPrompt(tuple(lists))
    texts = [await _text(connections, endpoint, single) for single in prompts]
    return TextPrompt(texts[0]) if kind is PromptKind.TEXT else TextsPrompt(tuple(texts))


async def _ids(
    connections: Connections, endpoint: Endpoint, prompt: TextPrompt | TokensPrompt
) -> tuple[int, ...]:
    if isinstance(prompt, TokensPrompt):
        return prompt.ids
    return tuple(id for id, _ in await connections.tokenize(endpoint, prompt.text, as_prompt=True))


async def _text(connections: Connections, endpoint: Endpoint, prompt: TextPrompt | TokensPrompt) -> str:
    if isinstance(prompt, TextPrompt):
        return prompt.text
    text = await connections.detokenize(endpoint, prompt.ids)
    again = await _ids(connections, endpoint, TextPrompt(text))
    if again != prompt.ids:
        index = next(
            (at for at, pair in enumerate(zip(again, prompt.ids, strict=False)) if pair[0] != pair[1]), 0
        )
        raise BadValueError(
            "No text gives exactly these token ids",
            f"The tokenizer gives different ids for {text[-60:]!r} from token {index + 1} on.",
            "Send them as token ids.",
        )
    return text
