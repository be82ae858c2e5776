"""Turns between requests, cancelling, and faults, over a model that is a simple rule."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.local.fakes import FACTS
from workbench.domain.errors import EngineError
from workbench.local.engine import Chunk, Facts, Generation
from workbench.local.grammar import GrammarVerdict
from workbench.local.llama_model import BATCH, Logits
from workbench.local.sampler import UnsupportedFieldError
from workbench.local.sampler_options import SamplerOptions
from workbench.local.scheduler import Scheduler

DEADLINE = 10
END = FACTS.vocabulary - 1


def next_token(tokens: Sequence[int]) -> int:
    """The rule: the likeliest token after some others."""
    return (sum(tokens) * 7 + len(tokens)) % (FACTS.vocabulary - 1)


def answer_to(prompt: Sequence[int], count: int) -> list[int]:
    """What the model generates."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(next_token(tokens))
    return tokens[len(prompt) :]


@dataclass
class RuleModel:
    """Evaluates by the rule, and lets a test count and hold back its batches."""

    facts: Facts = FACTS
    sequences: dict[int, list[int]] = field(default_factory=dict)
    batches: list[list[int]] = field(default_factory=list)
    """The sequences of each batch."""
    can_evaluate_together: bool = True
    fault: Exception | None = None
    """Raised in place of the next batch."""
    bad_prompt: Sequence[int] = ()
    """Cannot be evaluated."""
    restore_fault: Exception | None = None
    end_tokens: frozenset[int] = frozenset({END})
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.may_go_on = threading.Semaphore(10_000)

    def hold(self) -> None:
        """Hold back further batches; `may_go_on` lets single ones through."""
        while self.may_go_on.acquire(blocking=False):
            pass

    def evaluate_prompt(self, sequence: int, start: int, tokens: Sequence[int], every: bool) -> Logits:
        assert len(tokens) <= BATCH
        if tokens == self.bad_prompt:
            raise EngineError("out of memory")
        held = self.sequences.setdefault(sequence, [])
        assert len(held) == start
        rows = []
        for token in tokens:
            held.append(token)
            rows.append(next_token(held))
        return self._logits([sequence], rows if every else rows[-1:])

    def evaluate_tokens(self, tokens: Sequence[tuple[int, int, int]]) -> Logits:
        order = [sequence for sequence, _, _ in tokens]
        assert order == sorted(set(order))
        for sequence, position, token in tokens:
            assert len(self.sequences[sequence]) == position
            self.sequences[sequence].append(token)
        return self._logits(order, [next_token(self.sequences[sequence]) for sequence in order])

    def _logits(self, order: list[int], likeliest: Sequence[int]) -> Logits:
        self.batches.append(order)
        assert self.may_go_on.acquire(timeout=DEADLINE)
        if self.fault is not None:
            raise self.fault
        logits = np.zeros((len(likeliest), self.facts.vocabulary), np.float32)
        logits[range(len(likeliest)), likeliest] = 10
        return logits

    def forget(self, sequence: int) -> None:
        self.sequences.pop(sequence, None)

    def save(self, sequence: int) -> NDArray[np.uint8]:
        return np.array(self.sequences[sequence], np.int32).view(np.uint8)

    def restore(self, sequence: int, state: NDArray[np.uint8]) -> None:
        if self.restore_fault is not None:
            raise self.restore_fault
        self.sequences[sequence] = [int(token) for token in state.view(np.int32)]

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        raise NotImplementedError

    def token_bytes(self, token: int, special: bool) -> bytes:
        return b"%d " % token

    def close(self) -> None:
        self.is_closed = True


class Likeliest:
    """A sampler that takes the likeliest token."""

    def __init__(self, sampling: SamplerOptions, prompt: Sequence[int], seed: int) -> None:
        if sampling.xtc_probability:
            raise UnsupportedFieldError("xtc_probability")

    def choose(self, logits: NDArray[np.float32]) -> int:
        return int(logits.argmax())

    def accept(self, token: int) -> None:
        return

    def close(self) -> None:
        return


@dataclass
class HeldGrammar:
    """A grammar that allows token 5 alone, and answers only when it is let to."""

    queued: list[tuple[int, Callable[[GrammarVerdict], None]]] = field(default_factory=list)
    is_closed: bool = False

    def ask(self, index: int, token: int, on_verdict: Callable[[GrammarVerdict], None]) -> None:
        self.queued.append((token, on_verdict))

    def answer(self, error: str = "") -> None:
        token, on_verdict = self.queued.pop(0)
        allowed = np.arange(FACTS.vocabulary) == 5
        on_verdict(GrammarVerdict(token == 5, allowed, error))

    def close(self) -> None:
        self.is_closed = True


class Request:
    """A generation and what it was told."""

    def __init__(self, scheduler: Scheduler, prompts: Sequence[Sequence[int]], **fields: Any) -> None:
        self.chunks: dict[int, list[Chunk]] = {}
        self.changed = threading.Condition()
        self.ended_after = 0.0
        """The time of its last chunk."""
        settings = {"logprobs": None, "echo": False, "max_tokens": 4, "sampling": SamplerOptions(), **fields}
        seeds = settings.pop("seeds", [1])
        self.generation = Generation(prompts, seeds, **settings, on_chunk=self._take)
        scheduler.submit(self.generation)

    def _take(self, index: int, chunk: Chunk) -> None:
        with self.changed:
            self.chunks.setdefault(index, []).append(chunk)
            self.ended_after = time.monotonic()
            self.changed.notify_all()

    def wait(self, condition: Callable[[], object]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE)

    def answers(self) -> list[list[int]]:
        """The tokens of every choice, once all have ended."""
        count = len(self.generation.prompts) * len(self.generation.seeds)
        self.wait(lambda: len(self.ends()) == count)
        return [self.tokens(index) for index in range(count)]

    def tokens(self, index: int) -> list[int]:
        return [chunk.token.id for chunk in self.chunks.get(index, []) if chunk.token is not None]

    def ends(self) -> list[Chunk]:
        return [
            chunk for chunks in self.chunks.values() for chunk in chunks if chunk.finish_reason or chunk.error
        ]


@contextmanager
def running(
    model: RuleModel,
    slots: int = 2,
    grammars: list[HeldGrammar] | None = None,
    deliver: Callable[[Callable[[], None]], None] = lambda call: call(),
) -> Iterator[Scheduler]:
    def grammar(text: str) -> Any:
        made = HeldGrammar()
        assert grammars is not None
        grammars.append(made)
        return made

    fake_model: Any = model
    sampler: Any = Likeliest
    scheduler = Scheduler(fake_model, sampler, grammar, slots, deliver)
    try:
        yield scheduler
    finally:
        model.may_go_on.release(10_000)
        scheduler.close()
    assert model.is_closed


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(DEADLINE * 1000):
        if condition():
            return
        threading.Event().wait(0.001)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("length", [1, BATCH, BATCH + 1, 3 * BATCH + 5])
def test_an_answer_goes_on_where_its_prompt_ends(length: int) -> None:
    prompt = list(range(length))
    with running(RuleModel()) as scheduler:
        request = Request(scheduler, [prompt], max_tokens=6)
        assert request.answers() == [answer_to(prompt, 6)]
    assert [chunk.finish_reason for chunk in request.chunks[0]] == [None] * 6 + ["length"]


def test_more_choices_than_slots_are_all_generated_and_a_prompt_is_evaluated_once() -> None:
    model, prompts = RuleModel(), [[1] * (BATCH + 1), [2]]
    with running(model) as scheduler:
        request = Request(scheduler, prompts, seeds=[1, 2, 3, 4, 5], max_tokens=2)
        assert request.answers() == [answer_to(prompt, 2) for prompt in prompts for _ in range(5)]
    # Three batches for both prompts, and one for the second token of at most two choices each.
    assert len(model.batches) <= 3 + 10


def test_answers_of_several_requests_grow_together() -> None:
    model = RuleModel()
    with running(model) as scheduler:
        model.hold()
        requests = [Request(scheduler, [[number]], max_tokens=50) for number in (1, 2)]
        model.may_go_on.release(10_000)
        for number, request in enumerate(requests, 1):
            assert request.answers() == [answer_to([number], 50)]
    assert [0, 1] in model.batches


def test_short_prompts_are_evaluated_first_so_that_their_answers_grow_together() -> None:
    model = RuleModel()
    with running(model, slots=4) as scheduler:
        model.hold()
        first = Request(scheduler, [[1] * 20], max_tokens=10)
        wait_for(lambda: len(model.batches) == 1)
        others = [Request(scheduler, [[number] * 20], max_tokens=10) for number in (2, 3, 4)]
        model.may_go_on.release(10_000)
        for request in (first, *others):
            assert len(request.answers()[0]) == 10
    assert model.batches == [[0], [1], [2], [3]] + [[0, 1, 2, 3]] * 9


def test_answers_grow_beside_prompts_that_never_end() -> None:
    model = RuleModel()
    with running(model, slots=2) as scheduler:
        model.hold()
        answer = Request(scheduler, [[1]], max_tokens=1000)
        prompts = Request(scheduler, [[2] * 16] * 1000, max_tokens=1)
        model.may_go_on.release(300)
        wait_for(lambda: len(model.batches) > 300)
        # For each prompt of sixteen tokens one token of the answer, but for those of the first two batches.
        assert len(answer.tokens(0)) >= len(prompts.ends()) - 2 * BATCH // 16


def test_the_events_of_a_batch_are_delivered_together() -> None:
    deliveries: list[Callable[[], None]] = []
    model = RuleModel()
    with running(model, deliver=deliveries.append) as scheduler:
        request = Request(scheduler, [[1], [2]], max_tokens=3)
        wait_for(lambda: len(model.batches) == 4 and len(deliveries) == 5)
        assert not request.chunks
        counts = []
        for call in deliveries:
            call()
            counts.append(sum(map(len, request.chunks.values())))
    # Both start; each prompt gives a first token; both second and both third tokens come together.
    assert counts == [2, 3, 4, 6, 8]


def test_a_model_whose_sequences_change_each_other_evaluates_them_one_by_one() -> None:
    model = RuleModel(can_evaluate_together=False)
    with running(model) as scheduler:
        request = Request(scheduler, [[1], [2]], max_tokens=20)
        assert request.answers() == [answer_to([1], 20), answer_to([2], 20)]
    assert {len(batch) for batch in model.batches} == {1}


def test_a_request_of_many_choices_makes_room_for_another_after_one_batch() -> None:
    model = RuleModel()
    with running(model) as scheduler:
        model.hold()
        large = Request(scheduler, [[1], [2]], seeds=list(range(50)), max_tokens=40)
        while len(model.batches) < 30:
            count = len(model.batches)
            model.may_go_on.release()
            wait_for(lambda count=count: len(model.batches) > count)  # type: ignore[misc]
        small = Request(scheduler, [[7, 8]], max_tokens=2)
        before = len(model.batches)
        while not small.ends():
            count = len(model.batches)
            model.may_go_on.release()
            wait_for(lambda count=count: len(model.batches) > count or bool(small.ends()))  # type: ignore[misc]
        # Its prompt waits for at most eight tokens of the other request, its second token for none.
        assert len(model.batches) - before <= 12
        assert small.answers() == [answer_to([7, 8], 2)]
        model.may_go_on.release(10_000)
        # The choice that made room went on where it was.
        assert large.answers() == [answer_to([1], 40)] * 50 + [answer_to([2], 40)] * 50


@pytest.mark.parametrize("has_room", [True, False])
def test_long_answers_take_turns_where_others_wait_as_far_as_memory_goes(
    has_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_room:
        monkeypatch.setattr("workbench.local.scheduler._PAUSED_BYTES", -1)
    model = RuleModel()
    with running(model, slots=1) as scheduler:
        model.hold()
        requests = [Request(scheduler, [[number]], max_tokens=2000) for number in (1, 2)]
        small = Request(scheduler, [[3]], max_tokens=4)
        model.may_go_on.release(10_000)
        for number, request in enumerate(requests, 1):
            assert request.answers() == [answer_to([number], 2000)]
        assert small.answers() == [answer_to([3], 4)]
        assert (small.ended_after < min(request.ended_after for request in requests)) == has_room


@pytest.mark.parametrize("length", [20 * BATCH, 1])
def test_a_request_that_is_cancelled_ends_after_the_batch_under_way(length: int) -> None:
    model = RuleModel()
    with running(model, slots=1) as scheduler:
        model.hold()
        request = Request(scheduler, [[1] * length], max_tokens=1000)
        wait_for(lambda: len(model.batches) == 1)
        request.generation.is_cancelled = True
        other = Request(scheduler, [[3]], max_tokens=1)
        model.may_go_on.release(2)
        assert other.answers() == [answer_to([3], 1)]
    assert len(model.batches) == 2
    assert request.ends() == []


def test_a_choice_that_is_ended_leaves_the_others_alone() -> None:
    model = RuleModel()
    with running(model) as scheduler:
        model.hold()
        request = Request(scheduler, [[1], [2]], max_tokens=30)
        model.may_go_on.release(5)
        request.wait(lambda: len(request.tokens(0)) >= 2)
        request.generation.ended.add(0)
        model.may_go_on.release(1000)
        request.wait(request.ends)
    assert request.tokens(1) == answer_to([2], 30)
    assert len(request.tokens(0)) < 30


@pytest.mark.parametrize("logprobs", [None, 0, 2])
def test_an_echoed_prompt_has_a_token_for_each_of_its_tokens(logprobs: int | None) -> None:
    prompt = [3, *answer_to([3], 2 * BATCH + 3)]
    prompt[-1] = (prompt[-1] + 1) % END
    with running(RuleModel()) as scheduler:
        request = Request(scheduler, [prompt], echo=True, logprobs=logprobs, max_tokens=0, seeds=[1, 2])
        assert request.answers() == [[], []]
    for index in (0, 1):
        _, scored, ended = request.chunks[index]
        assert [token.id for token in scored.prompt] == prompt
        assert ended.finish_reason == "length"
    first, *others = scored.prompt
    assert (first.logprob, first.candidates) == (None, ())
    assert len(others) == 2 * BATCH + 3
    for number, token in enumerate(others, 1):
        if logprobs is None:
            assert (token.logprob, token.candidates) == (None, ())
        else:
            assert len(token.candidates) == logprobs
            assert token.logprob is not None
            is_likeliest = number < len(others)
            assert (token.logprob > -0.1) == is_likeliest
            if logprobs:
                assert (token.candidates[0].logprob == token.logprob) == is_likeliest


def test_a_batch_that_cannot_be_evaluated_ends_its_choices_only() -> None:
    model = RuleModel(fault=EngineError("out of memory"))
    with running(model) as scheduler:
        assert Request(scheduler, [[1]]).answers() == [[]]
        model.fault = None
        assert Request(scheduler, [[1]]).answers() == [answer_to([1], 4)]


def test_a_prompt_that_cannot_be_evaluated_leaves_other_answers_alone() -> None:
    model = RuleModel(bad_prompt=[2])
    with running(model) as scheduler:
        model.hold()
        request = Request(scheduler, [[1]], max_tokens=50)
        model.may_go_on.release(2)
        request.wait(lambda: request.tokens(0))
        failing = Request(scheduler, [[2]])
        model.may_go_on.release(1000)
        assert failing.answers() == [[]]
        assert request.answers() == [answer_to([1], 50)]


def test_a_sequence_that_cannot_be_restored_ends_its_choice_only() -> None:
    model = RuleModel(restore_fault=EngineError("cannot restore"))
    with running(model) as scheduler:
        request = Request(scheduler, [[1]], seeds=[1, 2, 3])
        assert request.answers() == [answer_to([1], 4), [], []]
        assert [request.chunks[index][-1].error for index in (1, 2)] == ["cannot restore"] * 2
        assert Request(scheduler, [[2]]).answers() == [answer_to([2], 4)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_the_engine_ends_every_choice_and_later_ones() -> None:
    model = RuleModel(fault=ZeroDivisionError("a fault"))
    with running(model) as scheduler:
        model.hold()
        requests = [Request(scheduler, [[1], [2], [3]]) for _ in range(2)]
        model.may_go_on.release(10_000)
        for request in (*requests, Request(scheduler, [[1]])):
            request.answers()
            assert {chunk.error for chunk in request.ends()} == {"the engine has stopped"}


def test_a_field_that_the_engine_lacks_is_named() -> None:
    with running(RuleModel()) as scheduler:
        request = Request(scheduler, [[1]], sampling=SamplerOptions(xtc_probability=0.5))
        request.answers()
    assert [chunk.param for chunk in request.ends()] == ["xtc_probability"]


def test_others_go_on_while_a_grammar_is_asked() -> None:
    grammars: list[HeldGrammar] = []
    with running(RuleModel(), grammars=grammars) as scheduler:
        slow = Request(scheduler, [[1]], sampling=SamplerOptions(grammar="root ::= x"), max_tokens=2)
        wait_for(lambda: bool(grammars and grammars[0].queued))
        assert Request(scheduler, [[2]], max_tokens=30).answers() == [answer_to([2], 30)]
        for _ in range(4):
            wait_for(lambda: bool(grammars[0].queued))
            grammars[0].answer()
        # Each of its tokens was not allowed at first, then chosen among those that are.
        assert slow.answers() == [[5, 5]]
        wait_for(lambda: grammars[0].is_closed)


def test_a_grammar_that_fails_ends_its_choice_and_a_cancelled_one_is_closed() -> None:
    grammars: list[HeldGrammar] = []
    with running(RuleModel(), grammars=grammars) as scheduler:
        failing, leaving = (
            Request(scheduler, [[1]], sampling=SamplerOptions(grammar=text)) for text in ("first", "second")
        )
        wait_for(lambda: len(grammars) == 2 and all(grammar.queued for grammar in grammars))
        grammars[0].answer("takes too long")
        failing.answers()
        assert [(chunk.error, chunk.param) for chunk in failing.ends()] == [("takes too long", "grammar")]
        leaving.generation.is_cancelled = True
        wait_for(lambda: grammars[1].is_closed)
        assert Request(scheduler, [[2]]).answers() == [answer_to([2], 4)]
