"""Answering a request for completions: its choices generated side by side, streamed or gathered."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.domain.json_values import JsonValue
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.local.answer import ChoiceBuilder, Piece, logprobs_json, rank, usage_json
from workbench.local.engine import Chunk, Engine
from workbench.local.refusal import Refusal, bad_request
from workbench.local.sampling import engine_body, engine_seed
from workbench.local.slots import Slots
from workbench.local.stops import StopMatcher
from workbench.local.validate import Order, check_fits

_Result = TypeVar("_Result")

_MOST_BYTES_A_TOKEN = 256
"""No text with more bytes than this for each token of the context is worth tokenising."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened to one choice: the engine took it up, pieces came, or it ended."""

    place: int
    """Prompt number × candidates + candidate number."""
    pieces: Sequence[Piece] = ()
    finish_reason: str | None = None


@dataclass(slots=True)
class Completion:
    """One request's answer in the making."""

    order: Order
    prompts: Sequence[Sequence[int]]
    engine: Engine
    slots: Slots
    model: str
    id: str = field(default_factory=lambda: f"cmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    builders: list[ChoiceBuilder] = field(init=False)

    def __post_init__(self) -> None:
        names: dict[int, str] = {}

        def name_of(token: int) -> str:
            if token not in names:
                names[token] = self.engine.detokenize([token])
            return names[token]

        self.builders = [
            ChoiceBuilder(
                self.order.logprobs, StopMatcher(self.order.stops), name_of, self.order.includes_stop
            )
            for _ in range(len(self.prompts) * self.order.candidates)
        ]

    async def gathered(self) -> dict[str, JsonValue]:
        """The whole answer as one object. Raises Refusal where the engine refuses."""
        async with aclosing(self._steps()) as steps:
            async for _ in steps:
                pass
        choices: list[JsonValue] = []
        for number in range(len(self.prompts)):
            first = number * self.order.candidates
            group = self.builders[first : first + self.order.candidates]
            best = list(range(self.order.n))
            if self.order.candidates > self.order.n:
                best = rank([builder.pieces for builder in group], self.order.n)
            for place in best:
                builder = group[place]
                choices.append(self._choice(len(choices), builder.pieces, builder.finish_reason, 0))
        return {**self._head(), "choices": choices, "usage": self._usage()}

    async def streamed(self) -> AsyncGenerator[list[dict[str, JsonValue]], None]:
        """The answer as chunks, as many at a time as there are; none says that the engine took it up.

        Raises Refusal where the engine refuses.
        """
        usage: dict[str, JsonValue] = {"usage": None} if self.order.include_usage else {}
        offsets = [0] * len(self.builders)
        async with aclosing(self._steps()) as batches:
            async for steps in batches:
                chunks: list[dict[str, JsonValue]] = []
                for step in steps:
                    if step.pieces or step.finish_reason is not None:
                        choice = self._choice(
                            step.place, step.pieces, step.finish_reason, offsets[step.place]
                        )
                        offsets[step.place] += sum(len(piece.text) for piece in step.pieces)
                        chunks.append({**self._head(), "choices": [choice], **usage})
                yield chunks
        if self.order.include_usage:
            yield [{**self._head(), "choices": [], "usage": self._usage()}]

    async def _steps(self) -> AsyncGenerator[list[Step], None]:
        """Every choice's steps as they come; whatever ends a choice in place of a finish reason is raised."""
        queue: asyncio.Queue[Step | asyncio.Task[None]] = asyncio.Queue()
        tasks = [asyncio.create_task(self._run(place, queue)) for place in range(len(self.builders))]
        for task in tasks:
            task.add_done_callback(queue.put_nowait)
        try:
            running = len(tasks)
            while running:
                events = [await queue.get()]
                while not queue.empty():
                    events.append(queue.get_nowait())
                if steps := [event for event in events if isinstance(event, Step)]:
                    yield steps
                for event in events:
                    if not isinstance(event, Step):
                        event.result()
                        running -= 1
                if not queue.empty():
                    # An engine that is faster than its reader must not keep the loop from everyone else.
                    await asyncio.sleep(0)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, place: int, queue: asyncio.Queue[Step | asyncio.Task[None]]) -> None:
        """Generate one choice, reporting into the queue. Raises Refusal where the engine refuses."""
        builder = self.builders[place]
        loop = asyncio.get_running_loop()
        refusal = Refusal(503, "the engine broke off")

        def take(chunk: Chunk) -> bool:
            nonlocal refusal
            if chunk.error:
                refusal = self._refusal(chunk)
                return True
            pieces = builder.take(chunk)
            loop.call_soon_threadsafe(queue.put_nowait, Step(place, pieces, builder.finish_reason))
            return builder.finish_reason is not None

        await self.slots.generate(self._body(place), take)
        if builder.finish_reason is None:
            raise refusal

    def _body(self, place: int) -> dict[str, JsonValue]:
        number, candidate = divmod(place, self.order.candidates)
        wanted = self.order.logprobs
        ranked = self.order.candidates > self.order.n
        n_probs = max(wanted or 0, 1) if wanted is not None or ranked else 0
        seed = engine_seed(self.order.seed, candidate)
        return engine_body(self.prompts[number], self.order.parameters, seed, n_probs)

    def _refusal(self, chunk: Chunk) -> Refusal:
        extra = self.order.parameters.extra
        if chunk.is_refusal or extra:
            return bad_request(next(iter(extra), None), f"the engine refuses: {chunk.error}")
        return Refusal(503, f"the engine failed: {chunk.error}")

    def _head(self) -> dict[str, JsonValue]:
        return {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model}

    def _choice(
        self, index: int, pieces: Sequence[Piece], finish_reason: str | None, offset: int
    ) -> dict[str, JsonValue]:
        return {
            "text": "".join(piece.text for piece in pieces),
            "index": index,
            "logprobs": None if self.order.logprobs is None else logprobs_json(pieces, offset),
            "finish_reason": finish_reason,
        }

    def _usage(self) -> Mapping[str, JsonValue]:
        return usage_json(sum(map(len, self.prompts)), sum(builder.made for builder in self.builders))


async def prompt_tokens(order: Order, engine: Engine) -> list[list[int]]:
    """The token ids of each of the request's prompts. Cancelling waits for the prompt being tokenised.

    An empty text is the beginning-of-text token alone, as there is nothing else to continue.

    Raises Refusal where an id is unknown or the context cannot hold prompt and answer.
    """
    facts = engine.facts
    biases = order.parameters.get("logit_bias")
    if isinstance(biases, Mapping):
        for key in biases:
            if len(key) > 10 or int(key) >= facts.vocabulary:
                raise bad_request("logit_bias", f"logit_bias: the model has no token {key[:20]}")
    most_bytes = facts.context * _MOST_BYTES_A_TOKEN
    prompts: list[list[int]] = []
    for one in _each(order.prompt):
        if isinstance(one, str):
            if len(one.encode()) > most_bytes:
                raise bad_request("prompt", f"prompt is longer than the context of {facts.context} tokens")
            ids = await in_thread(engine.tokenize, one)
            if not ids:
                ids = await in_thread(engine.tokenize, facts.bos_token or facts.eos_token)
        else:
            ids = list(one)
            unknown = next((token for token in ids if token >= facts.vocabulary), None)
            if unknown is not None:
                raise bad_request("prompt", f"prompt: the model has no token {unknown}")
        check_fits(len(ids), order.max_tokens, facts.context)
        prompts.append(ids)
    return prompts


async def in_thread(call: Callable[..., _Result], *arguments: object) -> _Result:
    """Run something that blocks in a thread. Cancelling takes effect once it has ended."""
    work = asyncio.get_running_loop().run_in_executor(None, call, *arguments)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise


def _each(prompt: Prompt) -> Sequence[str | Sequence[int]]:
    match prompt:
        case TextPrompt(text):
            return [text]
        case TextsPrompt(texts):
            return texts
        case TokensPrompt(ids):
            return [ids]
        case TokenListsPrompt(lists):
            return lists
