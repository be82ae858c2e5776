"""Token counts and ids from an endpoint's own tokenizer, while a person types."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError, EngineError
from workbench.domain.prompt import Prompt, TextPrompt, TokensPrompt, single_prompts
from workbench.workspace.services import Services

_PAUSE = 0.5
"""Seconds without an edit after which the prompt is counted."""


def has_tokenizer(services: Services, endpoint: Endpoint) -> bool:
    """Whether an endpoint can be asked now; the embedded model is never started for it."""
    return endpoint.tokenizer and services.can_ask(endpoint)


def no_tokenizer(endpoint: Endpoint) -> str:
    """Why an endpoint cannot be asked now, as the beginning of a sentence."""
    return "The local model has not started yet" if endpoint.tokenizer else "This endpoint has no tokenizer"


async def token_ids(services: Services, endpoint: Endpoint, text: str) -> tuple[int, ...]:
    """The token ids of a text. Raises EndpointError, also where the endpoint has no tokenizer to ask."""
    if not has_tokenizer(services, endpoint):
        raise EndpointError(f"{no_tokenizer(endpoint)}: give token ids")
    try:
        return tuple(id for id, _ in await services.connections.tokenize(endpoint, text))
    except EngineError as problem:
        raise EndpointError(problem.title, problem.message, problem.hint) from None


class PromptSize(Struct, frozen=True):
    """How many tokens a prompt is, as far as the endpoint tells."""

    tokens: int
    """Of all its prompts."""
    longest: int
    """Of the longest of them."""
    context: int | None
    """The tokens that a prompt and its answer may take together; None where the endpoint does not say."""

    def problem(self, max_tokens: int) -> str:
        """Why a prompt does not fit the context, in one line; empty where it does or that is unknown."""
        if self.context is None or self.longest + max_tokens <= self.context:
            return ""
        if self.longest > self.context:
            return f"{self.longest:,} tokens exceed the context of {self.context:,}"
        return f"max_tokens {max_tokens:,} exceeds what the context of {self.context:,} leaves"


class PromptCounter:
    """Counts the prompt's tokens once a person stops typing; a newer prompt takes an older one's place."""

    def __init__(self, services: Services, show: Callable[[PromptSize | None], None]) -> None:
        """`show` receives the size, or None where it is unknown."""
        self._services = services
        self._show = show
        self._counting: asyncio.Task[None] | None = None
        self._contexts: dict[tuple[str, str], int | None] = {}

    def count(self, endpoint: Endpoint, model: str, prompt: Prompt) -> None:
        """Count a prompt before long; `model` is the one it would be sent to."""
        self.stop()
        self._counting = asyncio.create_task(self._count(endpoint, model, single_prompts(prompt)))

    def stop(self) -> None:
        """Forget what is being counted."""
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None

    async def _count(
        self, endpoint: Endpoint, model: str, prompts: Sequence[TextPrompt | TokensPrompt]
    ) -> None:
        await asyncio.sleep(_PAUSE)
        size: PromptSize | None = None
        with suppress(EndpointError, EngineError):
            counts = [await self._tokens(endpoint, prompt) for prompt in prompts]
            size = PromptSize(sum(counts), max(counts), await self._context(endpoint, model))
        self._show(size)

    async def _tokens(self, endpoint: Endpoint, prompt: TextPrompt | TokensPrompt) -> int:
        if isinstance(prompt, TokensPrompt):
            return len(prompt.ids)
        return len(await token_ids(self._services, endpoint, prompt.text))

    async def _context(self, endpoint: Endpoint, model: str) -> int | None:
        if endpoint.context is not None or not has_tokenizer(self._services, endpoint):
            return endpoint.context
        key = endpoint.name, model
        if key not in self._contexts:
            self._contexts[key] = await self._services.connections.context_size(endpoint, model)
        return self._contexts[key]
