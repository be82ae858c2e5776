"""Answer completion requests: generate the choices concurrently, streamed or as one response."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.domain.json_values import JsonValue
from workbench.domain.prompt import TextPrompt, single_prompts
from workbench.local.choice_builder import AnswerToken, ChoiceBuilder, logprobs_json, rank, usage_json
from workbench.local.engine import Chunk, Engine, Generation
from workbench.local.refusal import Refusal, bad_request
from workbench.local.request_validation import Order, check_fits
from workbench.local.sampler_options import engine_seed
from workbench.local.stops import StopMatcher

_Result = TypeVar("_Result")

_MOST_BYTES_A_TOKEN = 256
"""A text with more bytes than this per token of the context is refused without tokenising it."""


@dataclass(frozen=True, slots=True)
class Step:
    """An event of a choice: it started, received tokens, or ended."""

    index: int
    """Index of the choice: prompt number × candidates + candidate number."""
    tokens: Sequence[AnswerToken] = ()
    finish_reason: str | None = None


@dataclass(slots=True)
class Completion:
    """The response to one request, while it is generated."""

    order: Order
    prompts: Sequence[Sequence[int]]
    engine: Engine
    model: str
    id: str = field(default_factory=lambda: f"cmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    builders: list[ChoiceBuilder] = field(init=False)

    def __post_init__(self) -> None:
        def name_of(token: int) -> str:
            return self.engine.token_bytes(token, special=True).decode(errors="replace")

        self.builders = [
            ChoiceBuilder(
                self.order.logprobs,
                StopMatcher(self.order.stops),
                name_of,
                self.order.includes_stop,
                self.order.echo,
                prompt.text if isinstance(prompt, TextPrompt) else None,
            )
            for prompt in single_prompts(self.order.prompt)
            for _ in range(self.order.candidates)
        ]

    async def gathered(self) -> dict[str, JsonValue]:
        """Return the whole response as one object. Raises Refusal if the engine reports an error."""
        async with aclosing(self._steps()) as steps:
            async for _ in steps:
                pass
        choices: list[JsonValue] = []
        for number in range(len(self.prompts)):
            first = number * self.order.candidates
            group = self.builders[first : first + self.order.candidates]
            if self.order.candidates > self.order.n:
                group = rank(group, self.order.n)
            for builder in group:
                choices.append(self._choice(len(choices), builder.tokens, builder.finish_reason, 0))
        return {**self._head(), "choices": choices, "usage": self._usage()}

    async def streamed(self) -> AsyncGenerator[list[dict[str, JsonValue]], None]:
        """Yield lists of the chunks available; an empty list means that the engine has started.

        Raises Refusal if the engine reports an error.
        """
        usage: dict[str, JsonValue] = {"usage": None} if self.order.include_usage else {}
        offsets = [0] * len(self.builders)
        async with aclosing(self._steps()) as batches:
            async for steps in batches:
                chunks: list[dict[str, JsonValue]] = []
                for step in steps:
                    if step.tokens or step.finish_reason is not None:
                        choice = self._choice(
                            step.index, step.tokens, step.finish_reason, offsets[step.index]
                        )
                        offsets[step.index] += sum(len(token.text) for token in step.tokens)
                        chunks.append({**self._head(), "choices": [choice], **usage})
                yield chunks
        if self.order.include_usage:
            yield [{**self._head(), "choices": [], "usage": self._usage()}]

    async def _steps(self) -> AsyncGenerator[list[Step], None]:
        """Yield the steps of all choices as they arrive. Raises Refusal if the engine reports an error."""
        queue: asyncio.Queue[tuple[int, Chunk]] = asyncio.Queue()
        generation = self._generation(lambda index, chunk: queue.put_nowait((index, chunk)))
        self.engine.submit(generation)
        try:
            running = len(self.builders)
            while running:
                events = [await queue.get()]
                while not queue.empty():
                    events.append(queue.get_nowait())
                steps: list[Step] = []
                for index, chunk in events:
                    builder = self.builders[index]
                    if builder.finish_reason is not None:
                        continue
                    if chunk.error:
                        if steps:
                            yield steps
                        raise _refusal(chunk)
                    steps.append(Step(index, builder.take(chunk), builder.finish_reason))
                    if builder.finish_reason is not None:
                        generation.ended.add(index)
                        running -= 1
                if steps:
                    yield steps
                if not queue.empty():
                    # An engine faster than the consumer must not block other tasks of the event loop.
                    await asyncio.sleep(0)
        finally:
            generation.is_cancelled = True

    def _generation(self, on_chunk: Callable[[int, Chunk], object]) -> Generation:
        order = self.order
        is_ranked = order.candidates > order.n
        return Generation(
            self.prompts,
            [engine_seed(order.seed, candidate) for candidate in range(order.candidates)],
            order.max_tokens,
            order.sampling,
            0 if order.logprobs is None and is_ranked else order.logprobs,
            order.echo,
            on_chunk,
        )

    def _head(self) -> dict[str, JsonValue]:
        return {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model}

    def _choice(
        self, index: int, tokens: Sequence[AnswerToken], finish_reason: str | None, offset: int
    ) -> dict[str, JsonValue]:
        return {
            "text": "".join(token.text for token in tokens),
            "index": index,
            "logprobs": None if self.order.logprobs is None else logprobs_json(tokens, offset),
            "finish_reason": finish_reason,
        }

    def _usage(self) -> Mapping[str, JsonValue]:
        return usage_json(sum(map(len, self.prompts)), sum(builder.generated for builder in self.builders))


def _refusal(chunk: Chunk) -> Refusal:
    if chunk.param is not None:
        return bad_request(chunk.param, f"{chunk.param}: {chunk.error}")
    return Refusal(503, chunk.error)


async def prompt_tokens(order: Order, engine: Engine) -> list[list[int]]:
    """Return the token ids of each prompt. Cancelling waits for the prompt being tokenised.

    An empty text becomes the beginning-of-text token, or else the end token, because the model needs a token.

    Raises Refusal if an id is unknown or prompt and answer exceed the context.
    """
    facts = engine.facts
    for token, _ in order.sampling.logit_bias:
        if token >= facts.vocabulary:
            raise bad_request("logit_bias", f"logit_bias: the model has no token {token}")
    most_bytes = facts.context * _MOST_BYTES_A_TOKEN
    prompts: list[list[int]] = []
    for prompt in single_prompts(order.prompt):
        if isinstance(prompt, TextPrompt):
            if len(prompt.text.encode()) > most_bytes:
                raise bad_request("prompt", f"prompt is longer than the context of {facts.context} tokens")
            ids = await in_thread(engine.tokenize, prompt.text)
            if not ids:
                ids = await in_thread(engine.tokenize, facts.bos_token or facts.eos_token)
        else:
            ids = list(prompt.ids)
            unknown = next((token for token in ids if token >= facts.vocabulary), None)
            if unknown is not None:
                raise bad_request("prompt", f"prompt: the model has no token {unknown}")
        check_fits(len(ids), order.max_tokens, facts.context)
        prompts.append(ids)
    return prompts


async def in_thread(call: Callable[..., _Result], *arguments: object) -> _Result:
    """Run a blocking call in a thread. Cancelling takes effect once the call has ended."""
    work = asyncio.get_running_loop().run_in_executor(None, call, *arguments)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        # Retrieved, or asyncio would log the exception's message, which may quote the request.
        work.exception()
        raise
