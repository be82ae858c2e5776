"""The engine: one thread that evaluates the choices of all requests in batches, in fair turns.

Each prompt is evaluated in its own batches, split at fixed positions; answers are evaluated in batches with
one token of each. So other requests do not affect how a request is evaluated, and its logits are reproducible
bit by bit. For the same reason nothing is cached for later requests.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.domain.errors import EngineError
from workbench.local.engine import Chunk, EngineToken, Generation
from workbench.local.grammar import Grammar, GrammarVerdict
from workbench.local.llama_model import BATCH, LlamaModel
from workbench.local.logprobs import ModelDistribution
from workbench.local.sampler import Sampler, UnsupportedFieldError
from workbench.local.sampler_options import SamplerOptions

_STOPPED = "the engine has stopped"
_LOOK_SECONDS = 0.1
_TURN_TOKENS = 128
"""Tokens of prompt and answer that a choice evaluates before it is paused for a waiting request."""
_PAUSED_BYTES = 2**30
"""Maximum bytes of paused choices' states; beyond it, requests wait until a choice ends."""
_PROMPT_TOKENS_A_STEP = 16
"""Prompt tokens that are evaluated per step of the answers, if both are waiting.

Short prompts up to a batch in total are still evaluated one after another: four answers that start together
form batches of four, in which a token takes a quarter less time than in smaller ones.
"""


SamplerFactory = Callable[[SamplerOptions, Sequence[int], int], Sampler]
"""Creates a choice's sampler from its sampling, prompt and seed; raises UnsupportedFieldError."""
GrammarFactory = Callable[[str], Grammar]
"""Creates a request's grammar from its text."""


@dataclass(eq=False, slots=True)
class _Request:
    """A generation in progress."""

    generation: Generation
    waiting: deque[_Choice] = field(default_factory=deque)
    """Choices that can start; until a prompt is evaluated, only its first choice is among them."""
    running: list[_Choice] = field(default_factory=list)
    grammar: Grammar | None = None
    last_turn: int = 0

    @property
    def choices(self) -> list[_Choice]:
        return [*self.running, *self.waiting]


@dataclass(eq=False, slots=True)
class _Choice:
    """One choice of a request."""

    request: _Request
    index: int
    prompt: Sequence[int]
    evaluated: int = 0
    """Number of evaluated tokens of prompt and answer."""
    started_at: int = 0
    """`evaluated` when the choice last got a sequence."""
    prompt_tokens: list[EngineToken] = field(default_factory=list)
    """The prompt's tokens so far, if requested."""
    generated: int = 0
    """Number of generated tokens."""
    last: int = 0
    """The latest token, which is evaluated next."""
    sampler: Sampler | None = None
    sequence: int | None = None
    """The model's sequence, while the choice runs."""
    state: NDArray[np.uint8] | None = None
    """The state to restore when the choice runs again."""
    logits_to_choose: NDArray[np.float32] | None = None
    """The logits of a token that waits for the grammar's verdict."""
    first_logits: NDArray[np.float32] | None = None
    """The logits after the prompt, if another choice of the same prompt evaluated it."""

    @property
    def is_ended(self) -> bool:
        generation = self.request.generation
        return generation.is_cancelled or self.index in generation.ended


class Scheduler:
    """An `Engine` with one model."""

    def __init__(
        self,
        model: LlamaModel,
        sampler: SamplerFactory,
        grammar: GrammarFactory,
        slots: int,
        deliver: Callable[[Callable[[], None]], object],
    ) -> None:
        """`slots` is the number of choices generated concurrently: the model's number of sequences.

        `deliver` is called in the engine's thread with a function that calls `on_chunk` for each event of a
        batch, and passes it to the thread that receives events. That thread is woken only once per batch, and
        not while tokens are chosen, so that it does not slow down the engine.
        """
        self._model = model
        self.facts, self.tokenize, self.token_bytes = model.facts, model.tokenize, model.token_bytes
        self._sampler = sampler
        self._grammar = grammar
        self._deliver = deliver
        self._reports: list[tuple[Generation, int, Chunk]] = []
        self._free = list(range(slots))
        self._requests: list[_Request] = []
        self._turn = 0
        self._prompt_debt = 0
        """Prompt tokens evaluated ahead of the answers; each step of the answers reduces it."""
        self._is_closed = False
        self._submitted: list[Generation] = []
        self._verdicts: list[tuple[_Choice, GrammarVerdict]] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def submit(self, generation: Generation) -> None:
        """Queue a generation; returns at once."""
        with self._changed:
            if not self._is_closed:
                self._submitted.append(generation)
                self._changed.notify()
                return
        for index in range(len(generation.prompts) * len(generation.seeds)):
            generation.on_chunk(index, Chunk(error=_STOPPED))

    def stop(self) -> None:
        """End all current and future choices with an error; returns at once."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def close(self) -> None:
        """Stop and unload the model; returns when that is done."""
        self.stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._wait():
                self._assign()
                self._judge()
                self._deliver_reports()
                self._step()
                self._deliver_reports()
        finally:
            # Also after an unexpected error in the loop, so that no request waits forever.
            with self._changed:
                self._is_closed = True
                submitted, self._submitted = self._submitted, []
            self._requests += map(self._request, submitted)
            for request in self._requests:
                for choice in request.choices:
                    self._end(choice, Chunk(error=_STOPPED))
                if request.grammar is not None:
                    request.grammar.close()
            self._deliver_reports()
            self._model.close()

    def _wait(self) -> bool:
        """Wait until there is work, and add submitted generations; return False once closed."""
        with self._changed:
            while not (self._is_closed or self._submitted or self._verdicts or self._has_work()):
                # While all choices wait for grammars, time out regularly to release cancelled ones.
                if not self._changed.wait(_LOOK_SECONDS if self._requests else None):
                    break
            submitted, self._submitted = self._submitted, []
            self._requests += map(self._request, submitted)
            return not self._is_closed

    def _has_work(self) -> bool:
        running = [choice for request in self._requests for choice in request.running]
        waiting = any(request.waiting for request in self._requests)
        return bool(self._free and waiting) or any(choice.logits_to_choose is None for choice in running)

    def _request(self, generation: Generation) -> _Request:
        request = _Request(generation)
        candidates = len(generation.seeds)
        for number, prompt in enumerate(generation.prompts):
            request.waiting.append(_Choice(request, number * candidates, prompt))
        return request

    def _assign(self) -> None:
        """Release ended choices and start waiting ones; each request gets a sequence before any gets two."""
        for request in self._requests:
            for choice in request.choices:
                if choice.is_ended:
                    self._release(choice)
        for request in self._requests:
            if request.grammar is not None and not request.choices:
                request.grammar.close()
        self._requests = [request for request in self._requests if request.choices]
        while waiting := [request for request in self._requests if request.waiting]:
            request = min(waiting, key=lambda waiter: (len(waiter.running), waiter.last_turn))
            if not self._free:
                paused = None if request.running else self._choice_to_pause()
                if paused is None:
                    return
                self._pause(paused)
            self._start(request.waiting.popleft())

    def _choice_to_pause(self) -> _Choice | None:
        """Return the choice to pause for a request that has none running; None if none may be paused yet."""
        states = [
            paused.state
            for request in self._requests
            for paused in request.waiting
            if paused.state is not None
        ]
        if sum({id(state): state.nbytes for state in states}.values()) > _PAUSED_BYTES:
            return None
        largest = max(self._requests, key=lambda request: len(request.running))
        if len(largest.running) > 1:
            return largest.running[-1]
        running = [choice for request in self._requests for choice in request.running]
        choice = max(running, key=lambda candidate: candidate.evaluated - candidate.started_at)
        return choice if choice.evaluated - choice.started_at >= _TURN_TOKENS else None

    def _start(self, choice: _Choice) -> None:
        request, generation = choice.request, choice.request.generation
        self._turn += 1
        request.last_turn = self._turn
        request.running.append(choice)
        # Adjacent sequences are evaluated together; a gap between them would split the batch.
        choice.started_at = choice.evaluated
        choice.sequence = min(self._free)
        self._free.remove(choice.sequence)
        if choice.state is not None:
            state, choice.state = choice.state, None
            try:
                self._model.restore(choice.sequence, state)
            except EngineError as error:
                self._end(choice, Chunk(error=str(error)))
                return
        if choice.sampler is None:
            seed = generation.seeds[choice.index % len(generation.seeds)]
            try:
                choice.sampler = self._sampler(generation.sampling, choice.prompt, seed)
            except UnsupportedFieldError as error:
                field_name = str(error)
                self._end(choice, Chunk(error=f"the installed engine has no {field_name}", param=field_name))
                return
            self._report(choice, Chunk())
        if choice.first_logits is not None:
            logits, choice.first_logits = choice.first_logits, None
            self._begin(choice, logits)

    def _pause(self, choice: _Choice) -> None:
        """Save a choice's state and free its sequence."""
        assert choice.sequence is not None
        if choice.evaluated:
            choice.state = self._model.save(choice.sequence)
        choice.request.waiting.appendleft(choice)
        self._detach(choice)

    def _detach(self, choice: _Choice) -> None:
        assert choice.sequence is not None
        self._model.forget(choice.sequence)
        self._free.append(choice.sequence)
        choice.sequence = None
        choice.request.running.remove(choice)

    def _release(self, choice: _Choice) -> None:
        """Free the resources of a choice that has ended."""
        if choice.sequence is None:
            choice.request.waiting.remove(choice)
        else:
            self._detach(choice)
        choice.logits_to_choose = None
        if choice.sampler is not None:
            choice.sampler.close()
            choice.sampler = None

    def _end(self, choice: _Choice, chunk: Chunk) -> None:
        self._release(choice)
        self._report(choice, chunk)

    def _report(self, choice: _Choice, chunk: Chunk) -> None:
        """Report an event, unless the caller has ended the choice."""
        if not choice.is_ended:
            self._reports.append((choice.request.generation, choice.index, chunk))

    def _deliver_reports(self) -> None:
        if self._reports:
            self._deliver(partial(_call_back, self._reports))
            self._reports = []

    def _step(self) -> None:
        """Evaluate a batch of one prompt, or the next token of all answers."""
        running = [choice for request in self._requests for choice in request.running]
        prompts = [choice for choice in running if choice.evaluated < len(choice.prompt)]
        answers = [
            choice
            for choice in running
            if choice.evaluated >= len(choice.prompt) and choice.logits_to_choose is None
        ]
        batch: Sequence[_Choice] = ()
        try:
            if prompts and (not answers or self._prompt_debt < BATCH):
                batch = [min(prompts, key=lambda prompted: prompted.request.last_turn)]
                self._evaluate_prompt(batch[0])
            elif answers:
                self._prompt_debt = max(0, self._prompt_debt - _PROMPT_TOKENS_A_STEP)
                for batch in [answers] if self._model.can_evaluate_together else [[row] for row in answers]:
                    self._evaluate_answers(batch)
        except EngineError as error:
            for choice in batch:
                if choice.sequence is not None:
                    self._end(choice, Chunk(error=str(error)))

    def _evaluate_prompt(self, choice: _Choice) -> None:
        assert choice.sequence is not None
        generation = choice.request.generation
        self._turn += 1
        choice.request.last_turn = self._turn
        start = choice.evaluated
        part = choice.prompt[start : start + BATCH]
        scores = generation.echo and generation.logprobs is not None
        logits = self._model.evaluate_prompt(choice.sequence, start, part, scores)
        choice.evaluated += len(part)
        self._prompt_debt = min(self._prompt_debt + len(part), 2 * BATCH)
        if generation.echo:
            if not start:
                choice.prompt_tokens.append(self._token(part[0], True))
            following = choice.prompt[start + 1 : start + 1 + len(part)]
            choice.prompt_tokens += [
                self._token(token, True, logits[row] if scores else None, generation.logprobs)
                for row, token in enumerate(following)
            ]
        if choice.evaluated == len(choice.prompt):
            last = logits[-1]
            self._share(choice, last)
            self._begin(choice, last)

    def _share(self, choice: _Choice, logits: NDArray[np.float32]) -> None:
        """Add the other choices of the same prompt, starting from this one's state."""
        assert choice.sequence is not None
        others = range(choice.index + 1, choice.index + len(choice.request.generation.seeds))
        if not others:
            return
        state, logits = self._model.save(choice.sequence), logits.copy()
        choice.request.waiting.extendleft(
            _Choice(
                choice.request,
                index,
                choice.prompt,
                choice.evaluated,
                prompt_tokens=choice.prompt_tokens,
                state=state,
                first_logits=logits,
            )
            for index in reversed(others)
        )

    def _begin(self, choice: _Choice, logits: NDArray[np.float32]) -> None:
        """Report the prompt and generate the first token."""
        if choice.prompt_tokens:
            self._report(choice, Chunk(prompt=tuple(choice.prompt_tokens)))
        if choice.request.generation.max_tokens:
            self._generate(choice, logits)
        else:
            self._end(choice, Chunk(finish_reason="length"))

    def _evaluate_answers(self, choices: Sequence[_Choice]) -> None:
        by_sequence = {choice.sequence: choice for choice in choices if choice.sequence is not None}
        order = sorted(by_sequence)
        logits = self._model.evaluate_tokens(
            [(sequence, by_sequence[sequence].evaluated, by_sequence[sequence].last) for sequence in order]
        )
        for sequence, row in zip(order, logits, strict=True):
            choice = by_sequence[sequence]
            choice.evaluated += 1
            self._generate(choice, row)

    def _generate(self, choice: _Choice, logits: NDArray[np.float32]) -> None:
        """Choose the next token, and add it or check it with the grammar."""
        assert choice.sampler is not None
        generation, request = choice.request.generation, choice.request
        token = choice.sampler.choose(logits)
        if not generation.sampling.grammar:
            self._take(choice, token, logits)
            return
        if request.grammar is None:
            request.grammar = self._grammar(generation.sampling.grammar)
        choice.logits_to_choose = logits.copy()
        self._ask_grammar(choice, token)

    def _ask_grammar(self, choice: _Choice, token: int) -> None:
        assert choice.request.grammar is not None
        choice.last = token
        choice.request.grammar.ask(choice.index, token, partial(self._on_verdict, choice))

    def _on_verdict(self, choice: _Choice, verdict: GrammarVerdict) -> None:
        with self._changed:
            self._verdicts.append((choice, verdict))
            self._changed.notify()

    def _judge(self) -> None:
        """Continue the choices whose grammar has answered."""
        with self._changed:
            verdicts, self._verdicts = self._verdicts, []
        for choice, verdict in verdicts:
            logits = choice.logits_to_choose
            if logits is None or choice.sampler is None or choice.is_ended:
                continue
            if verdict.error:
                self._end(choice, Chunk(error=verdict.error, param="grammar"))
            elif verdict.is_allowed:
                choice.logits_to_choose = None
                self._take(choice, choice.last, logits)
            elif verdict.allowed is None or not verdict.allowed.any():
                self._end(choice, Chunk(error="allows no token of the model here", param="grammar"))
            else:
                # Choose again from the allowed tokens of the whole distribution.
                allowed = np.where(verdict.allowed, logits, np.float32(-np.inf))
                self._ask_grammar(choice, choice.sampler.choose(allowed))

    def _take(self, choice: _Choice, token: int, logits: NDArray[np.float32]) -> None:
        """Add a token to the answer and report it."""
        assert choice.sampler is not None
        generation = choice.request.generation
        choice.sampler.accept(token)
        choice.last = token
        choice.generated += 1
        finish_reason = None
        if token in self._model.end_tokens:
            finish_reason = "stop"
        elif choice.generated == generation.max_tokens:
            finish_reason = "length"
        reported = self._token(token, False, logits, generation.logprobs)
        chunk = Chunk(token=reported, finish_reason=finish_reason)
        if finish_reason is None:
            self._report(choice, chunk)
        else:
            self._end(choice, chunk)

    def _token(
        self,
        token: int,
        special: bool,
        logits: NDArray[np.float32] | None = None,
        candidates: int | None = None,
    ) -> EngineToken:
        data = self._model.token_bytes(token, special)
        if logits is None or candidates is None:
            return EngineToken(token, data)
        distribution = ModelDistribution(logits)
        listed = tuple(
            EngineToken(likely, self._model.token_bytes(likely, False), distribution.logprob(likely))
            for likely in distribution.likeliest(candidates)
        )
        return EngineToken(token, data, distribution.logprob(token), listed)


def _call_back(reports: Sequence[tuple[Generation, int, Chunk]]) -> None:
    for generation, index, chunk in reports:
        generation.on_chunk(index, chunk)


def load_engine(
    path: Path, slots: int, context: int, deliver: Callable[[Callable[[], None]], object]
) -> Scheduler:
    """Load a model file; takes a second or two. Raises EngineError."""
    # Loaded in a temporary thread, so that the OpenMP threads created for loading end with it. With more
    # threads than cores, libgomp spins at most 100 times before it sleeps, regardless of GOMP_SPINCOUNT.
    with ThreadPoolExecutor(1) as loader:
        model = loader.submit(LlamaModel, path, slots, context).result()
    grammar = partial(Grammar, path, model.facts.vocabulary)
    return Scheduler(model, partial(Sampler, model), grammar, slots, deliver)
