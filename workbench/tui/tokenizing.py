"""Token counts and token ids from an endpoint's tokenizer."""

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
"""Seconds after the last edit until the prompt is counted."""


def has_tokenizer(services: Services, endpoint: Endpoint) -> bool:
    """Return whether an endpoint can tokenize now; the local model is not started for it."""
    return endpoint.tokenizer and services.can_ask(endpoint)


def no_tokenizer(endpoint: Endpoint) -> str:
    """Return why an endpoint cannot tokenize now, as the beginning of a sentence."""
    return "The local model has not started yet" if endpoint.tokenizer else "This endpoint has no tokenizer"


async def token_ids(services: Services, endpoint: Endpoint, text: str) -> tuple[int, ...]:
    """Return the token ids of a text. Raises EndpointError, also if the endpoint cannot tokenize now."""
    if not has_tokenizer(services, endpoint):
        raise EndpointError(f"{no_tokenizer(endpoint)}: give token ids")
    try:
        return tuple(id for id, _ in await services.connections.tokenize(endpoint, text))
    except EngineError as problem:
        raise EndpointError(problem.title, problem.message, problem.hint) from None


class PromptSize(Struct, frozen=True):
    """The size of a prompt in tokens."""

    tokens: int
    """The tokens of all its prompts together."""
    longest: int
    """The tokens of the longest prompt."""
    context: int | None
    """The context size, for a prompt and its answer together; None if the endpoint does not report it."""

    def problem(self, max_tokens: int) -> str:
        """Return why the prompt does not fit the context, in one line, or an empty string."""
        if self.context is None or self.longest + max_tokens <= self.context:
            return ""
        if self.longest > self.context:
            return f"{self.longest:,} tokens exceed the context of {self.context:,}"
        return f"max_tokens {max_tokens:,} exceeds what the context of {self.context:,} leaves"


class PromptCounter:
    """Counts the tokens of the prompt after a pause in typing; a new count cancels the one before."""

    def __init__(self, services: Services, show: Callable[[PromptSize | None], None]) -> None:
        """`show` receives the size, or None if it is unknown."""
        self._services = services
        self._show = show
        self._counting: asyncio.Task[None] | None = None
        self._contexts: dict[tuple[str, str], int | None] = {}

    def count(self, endpoint: Endpoint, model: str, prompt: Prompt) -> None:
        """Count a prompt after a pause, for the context of a model."""
        self.stop()
        self._counting = asyncio.create_task(self._count(endpoint, model, single_prompts(prompt)))

    def stop(self) -> None:
        """Cancel the current count."""
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
