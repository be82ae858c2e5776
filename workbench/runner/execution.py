"""One run: its request sent, its answer stored as it comes, its outcome named."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import UTC, datetime
from functools import partial
from math import isnan
from time import perf_counter
from typing import NamedTuple

from workbench.client.client import Client
from workbench.client.events import (
    Delta,
    DoneReceived,
    End,
    Error,
    Event,
    Finished,
    KeepAlive,
    PromptTokens,
    RequestSent,
    ResponseInfo,
    ResponseStarted,
    UsageReceived,
    Warning,
)
from workbench.client.retries import pause
from workbench.client.wire_log import WireLog
from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.display import one_line, show_seconds
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.run import Failure, Outcome, Run, Usage
from workbench.runner.echo import explain_missing_echo, mark_prompts
from workbench.runner.limiter import Limiter, RequestSlot
from workbench.runner.split_run import ChoiceAt, send_apart
from workbench.runner.status import Phase, Status

_BAD_KEY = 401
_TOO_MANY = 429


class _Refused(NamedTuple):
    """An attempt that the endpoint refused, where another one follows."""

    status: Status
    is_held: bool
    """Whether the limiter holds the next attempt back, with all other requests."""


class _Refusals:
    """How often one request was refused, and what follows from it."""

    def __init__(self, most: int, limiter: Limiter) -> None:
        """`most` is how many refusals are followed by another attempt."""
        self.count = 0
        self._most = most
        self._limiter = limiter
        self._counted = 0
        self._answers = limiter.answers

    def may_repeat(self, failed: Error) -> bool:
        """Whether the request is sent again after one more refusal.

        One for too many requests does not count where the endpoint accepted another request since the one
        before: all get through in time.
        """
        is_behind_others = failed.error.status == _TOO_MANY and self._limiter.answers > self._answers
        self._answers = self._limiter.answers
        self.count += 1
        self._counted += not is_behind_others
        return failed.can_retry and 0 < self._most >= self._counted

    def pause(self, error: EndpointError) -> float:
        """Seconds until the next attempt; another key is tried at once."""
        if error.status == _BAD_KEY:
            return 0.0
        return pause(max(self._counted, 1), error.retry_after, random.random())


class Sender:
    """Sends the requests of one run, each in its turn, and again where the endpoint refused it."""

    def __init__(
        self,
        client: Client,
        limiter: Limiter,
        endpoint: Endpoint,
        *,
        batch: str,
        on_status: Callable[[Status], None],
        wire: WireLog | None,
    ) -> None:
        """`batch` is as the limiter takes it; `wire` records the exchange, the first one of several."""
        self._client = client
        self._limiter = limiter
        self._endpoint = endpoint
        self._batch = batch
        self._on_status = on_status
        self._wire = wire
        self._first_sent: float | None = None

    async def send(self, run: Run) -> None:
        """Send a run and fill it with what comes; a run that is split goes as several requests.

        Errors end in `run.error`, never as exceptions. On cancellation the connections close at once, the run
        is stopped with the text that came, and the cancellation goes on. All times count from the moment when
        the request went out that was answered: waiting for a turn or for another attempt is not part of them.
        """
        if not run.split:
            await self._exchange(run, run, run.choice)
            return
        try:
            await send_apart(run, run.split, self._endpoint, partial(self._exchange, run))
        finally:
            if self._first_sent is not None:
                run.total = perf_counter() - self._first_sent

    async def _exchange(self, whole: Run, run: Run, choice_at: ChoiceAt) -> None:
        """Send one request until it is answered or refused for good; it is part of the `whole` run."""
        recorder, refusals = (
            Recorder(run, self._endpoint, choice_at),
            _Refusals(self._endpoint.retries, self._limiter),
        )
        wire, self._wire = self._wire, None
        try:
            while True:
                async with self._turn(again=refusals.count > 0) as turn:
                    if self._first_sent is None:
                        self._first_sent, whole.started = perf_counter(), datetime.now(UTC)
                    refused = await self._attempt(recorder, run, turn, refusals, wire)
                if refused is None:
                    return
                self._on_status(refused.status)
                if not refused.is_held:
                    await asyncio.sleep(refused.status.seconds)
        finally:
            # An exchange that came to its end has named the outcome already.
            recorder.stop()

    def _turn(self, *, again: bool) -> AbstractAsyncContextManager[RequestSlot]:
        if again:
            # It was said already how long this one waits.
            return self._limiter.turn(self._endpoint, self._batch, again=True)
        return self._limiter.turn(self._endpoint, self._batch, on_wait=self._note_wait)

    def _note_wait(self, seconds: float) -> None:
        words = f"the endpoint asks to wait {show_seconds(seconds)}" if seconds else "waiting for its turn"
        self._on_status(Status(Phase.QUEUED, words, seconds))

    async def _attempt(
        self, recorder: Recorder, run: Run, turn: RequestSlot, refusals: _Refusals, wire: WireLog | None
    ) -> _Refused | None:
        """Send the request once and record its answer; returns a refusal that another attempt follows."""
        began = perf_counter()
        try:
            async with aclosing(self._client.stream(self._endpoint, run.request, wire=wire)) as events:
                async for event in events:
                    if type(event) is not Delta:
                        if isinstance(event, Error) and (refused := self._refused(event, refusals)):
                            return refused
                        if isinstance(event, ResponseStarted):
                            self._limiter.answered(turn)
                        self._tell(event)
                    recorder.take(event, perf_counter() - began)
        finally:
            run.total = perf_counter() - began
        return None

    def _refused(self, failed: Error, refusals: _Refusals) -> _Refused | None:
        """What follows from a refusal; None where the request is not sent again."""
        error = failed.error
        is_sent_again = refusals.may_repeat(failed)
        seconds = refusals.pause(error)
        is_held = error.retry_after is not None or (is_sent_again and error.status == _TOO_MANY)
        if is_held:
            self._limiter.hold(seconds)
        if not is_sent_again:
            return None
        words = _words(error)
        if error.retry_after is not None:
            words += f"; the endpoint asks to wait {show_seconds(error.retry_after)}"
        return _Refused(Status(Phase.RETRYING, words, seconds, refusals.count), is_held)

    def _tell(self, event: Event) -> None:
        match event:
            case RequestSent():
                self._on_status(Status(Phase.SENDING))
            case ResponseStarted():
                self._on_status(Status(Phase.WAITING))
            case KeepAlive(text):
                self._on_status(Status(Phase.WAITING, text))
            case End():
                self._on_status(Status(Phase.ENDED))


def _words(error: EndpointError) -> str:
    return one_line(": ".join(filter(None, (error.title, error.message))))


_NO_ANSWER = Failure(
    "No answer received",
    "The endpoint ended its answer without any text or finish_reason.",
    "Send it again; if it stays so, check the model's name and the parameters, or the raw traffic.",
)


class Recorder:
    """Fills a run from the events of its exchange."""

    def __init__(self, run: Run, endpoint: Endpoint, choice_at: ChoiceAt) -> None:
        """`choice_at` finds the choice to fill, or makes it."""
        self._run = run
        self._choice_at = choice_at
        self._endpoint = endpoint
        self._failed = False
        self._is_done = False
        self._prompts: list[PromptTokens] = []
        run.raw_logprobs = endpoint.raw_logprobs

    def take(self, event: Event, at: float) -> None:
        """Store an event that came `at` seconds after the request."""
        if type(event) is Delta:
            choice = self._choice_at(event.choice)
            if event.replaces:
                _replace(choice, event.pieces)
            else:
                for piece in event.pieces:
                    choice.append(piece, at)
        else:
            self._take_rarer(event)

    def _take_rarer(self, event: Event) -> None:
        run = self._run
        match event:
            case RequestSent(_, body):
                run.sent = body
            case ResponseInfo(response_id, model, created):
                run.response_id, run.model = response_id or run.response_id, model or run.model
                run.created = run.created if created is None else created
            case Finished(index, reason):
                self._choice_at(index).finish_reason = reason
            case UsageReceived(usage):
                run.usage = usage if run.usage is None or usage != Usage() else run.usage
            case Warning(text):
                run.note(text)
            case PromptTokens():
                self._prompts.append(event)
            case Error(error):
                run.error = run.error or Failure.of(error)
                self._failed = True
            case DoneReceived():
                self._is_done = True
            case End(error):
                self._end(error)

    def stop(self) -> None:
        """Name the outcome of an exchange that goes no further; an answer that is whole stays so."""
        if self._run.outcome is not None:
            return
        if self._failed or self._is_done or self._is_whole:
            self._end(None)
        else:
            self._close(Outcome.STOPPED)

    def _end(self, error: EndpointError | None) -> None:
        run = self._run
        if error is not None and self._is_whole:
            run.note(f"the connection was lost after the whole answer: {_words(error)}")
        elif error is not None:
            run.error = run.error or Failure.of(error)
        elif not self._failed and not any(
            len(choice) or choice.finish_reason for choice in run.choices.values()
        ):
            run.error = _NO_ANSWER
            self._failed = True
        self._close(self._outcome())

    @property
    def _is_whole(self) -> bool:
        """Whether every choice that was requested has its finish_reason."""
        choices = self._run.choices.values()
        return len(choices) >= self._run.request.choices and all(
            choice.finish_reason is not None for choice in choices
        )

    def _outcome(self) -> Outcome:
        choices = self._run.choices.values()
        if self._failed:
            return Outcome.ERROR
        if self._is_whole or (self._is_done and all(choice.finish_reason is not None for choice in choices)):
            return Outcome.COMPLETE
        return Outcome.UNFINISHED if self._is_done else Outcome.TRUNCATED

    def _close(self, outcome: Outcome) -> None:
        """Name the outcome, and say what is odd about the answer."""
        run = self._run
        run.outcome = outcome
        run.choices = {index: run.choices[index] for index in sorted(run.choices)}
        mark_prompts(run, self._prompts)
        explain_missing_echo(run)
        for remark in _remarks(run, self._endpoint):
            run.note(remark)


def _replace(choice: Choice, pieces: Sequence[ReceivedToken]) -> None:
    """Store the tokens of a text that came before them, each with the time at which its text came."""
    at: list[float] = []
    start = 0
    for piece in pieces:
        at.append(choice.at[choice.token_at(start)])
        start += len(piece.text)
    choice.replace(pieces, at)


def _remarks(run: Run, endpoint: Endpoint) -> Iterator[str]:
    """What is odd about an answer, each in one plain line."""
    request = run.request
    if run.is_answered and len(run.choices) < request.choices:
        yield f"server returned {len(run.choices)} of {request.choices} choices"
    if run.model and request.model and run.model != request.model:
        yield f"answered by {one_line(run.model, 120)}, not {one_line(request.model, 120)}"
    if (
        run.is_answered
        and request.parameters.get("logprobs") is not None
        and run.tokens
        and all(isnan(logprob) for choice in run.choices.values() for logprob in choice.logprobs)
    ):
        yield "logprobs were requested, but none were returned"
    if dropped := [name for name in request.parameters.values if name in endpoint.drop]:
        yield f"not sent, as this endpoint does not take it: {', '.join(dropped)}"
    if run.outcome is Outcome.UNFINISHED:
        yield "the answer ended without a finish_reason"
    if run.outcome is Outcome.TRUNCATED:
        yield "the stream ended without [DONE]; the answer may be incomplete"
