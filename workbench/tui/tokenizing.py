"""Token counts and ids from an endpoint's own tokenizer, while a person types."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError, EngineError
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt
from workbench.workspace.services import Services

_PAUSE = 0.5
"""Seconds without an edit after which the prompt is counted."""


def has_tokenizer(services: Services, endpoint: Endpoint) -> bool:
    """Whether an endpoint can be asked now; the embedded model is never started for it."""
    return endpoint.tokenizer and services.connections.is_ready(endpoint)


async def token_ids(services: Services, endpoint: Endpoint, text: str) -> tuple[int, ...]:
    """The token ids of a text. Raises EndpointError, also where the endpoint has no tokenizer to ask."""
    if not has_tokenizer(services, endpoint):
        raise EndpointError(
            "The local model is not running yet: run once, or give token ids"
            if endpoint.tokenizer
            else "This endpoint has no tokenizer: give token ids"
        )
    try:
        return tuple(id for id, _ in await services.connections.tokenize(endpoint, text))
    except EngineError as problem:
        raise EndpointError(problem.title, problem.message, problem.hint) from None


class PromptCounter:
    """Counts the prompt's tokens once a person stops typing; a newer prompt takes an older one's place."""

    def __init__(self, services: Services, show: Callable[[int | None], None]) -> None:
        """`show` is told the count, or None where it cannot be told."""
        self._services = services
        self._show = show
        self._counting: asyncio.Task[None] | None = None

    def count(self, endpoint: Endpoint, prompt: Prompt) -> None:
        """Count a prompt of texts before long; token ids need no counting."""
        self.stop()
        match prompt:
            case TextPrompt(text):
                texts: tuple[str, ...] = (text,)
            case TextsPrompt(texts):
                pass
            case _:
                return
        self._counting = asyncio.create_task(self._count(endpoint, texts))

    def stop(self) -> None:
        """Forget what is being counted."""
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None

    async def _count(self, endpoint: Endpoint, texts: tuple[str, ...]) -> None:
        await asyncio.sleep(_PAUSE)
        count: int | None = None
        if has_tokenizer(self._services, endpoint):
            try:
                count = sum([len(await token_ids(self._services, endpoint, text)) for text in texts])
            except EndpointError:
                count = None
        self._show(count)
