"""Execute a run: send its request, store the answer as it arrives, and set the outcome."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import isnan
from time import perf_counter

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
from workbench.runner.run_status import Phase, Status
from workbench.runner.split_run import ChoiceAt, send_apart

_BAD_KEY = 401
_TOO_MANY = 429


class _Refusals:
    """Counts the failed attempts of one request, and decides on retries."""

    def __init__(self, most: int, limiter: Limiter) -> None:
        """`most` is the maximum number of retries."""
        self.count = 0
        self._most = most
        self._limiter = limiter
        self._counted = 0
        self._answers = limiter.answers

    def may_repeat(self, failed: Error) -> bool:
        """Count a failed attempt; return whether the request is retried.

        A 429 does not count against the limit if the endpoint accepted another request since the last
        failure: eventually all requests get through.
        """
        is_behind_others = failed.error.status == _TOO_MANY and self._limiter.answers > self._answers
        self._answers = self._limiter.answers
        self.count += 1
        self._counted += not is_behind_others
        return failed.can_retry and 0 < self._most >= self._counted

    def pause(self, error: EndpointError) -> float:
        """Return the seconds until the next attempt; 0 after a 401, to try a new key at once."""
        if error.status == _BAD_KEY:
            return 0.0
        return pause(max(self._counted, 1), error.retry_after, random.random())


@dataclass(slots=True)
class Sender:
    """Sends the requests of one run through the rate limiter, and retries them."""

    client: Client
    limiter: Limiter
    endpoint: Endpoint
    batch: str
    """Passed to the limiter."""
    on_status: Callable[[Status], None]
    wire: WireLog | None
    """Logs the raw traffic of the first request."""
    _first_sent: float | None = None

    async def send(self, run: Run) -> None:
        """Send a run, as several requests if it is split, and store its answer in it.

        Errors are stored in `run.error`, never raised. On cancellation the connections close at once, the run
        stops and keeps its text, and CancelledError propagates. All times count from the start of the attempt
        that was answered, so they exclude the rate limiter's queue and retries.
        """
        if not run.split:
            await self._exchange(run, run, run.choice)
            return
        try:
            await send_apart(run, run.split, self.endpoint, partial(self._exchange, run))
        finally:
            if self._first_sent is not None:
                run.total = perf_counter() - self._first_sent

    async def _exchange(self, whole: Run, run: Run, choice_at: ChoiceAt) -> None:
        """Send one request of the `whole` run until it is answered or no longer retried."""
        recorder = Recorder(run, self.endpoint, choice_at)
        refusals = _Refusals(self.endpoint.retries, self.limiter)
        wire, self.wire = self.wire, None
        seconds: float | None = 0.0
        try:
            while seconds is not None:
                await asyncio.sleep(seconds)
                is_retry, on_wait = refusals.count > 0, self._note_wait
                limiter, limits = self.limiter, self.endpoint
                async with limiter.turn(limits, self.batch, on_wait=on_wait, again=is_retry) as turn:
                    if self._first_sent is None:
                        self._first_sent, whole.started = perf_counter(), datetime.now(UTC)
                    seconds = await self._attempt(recorder, run, turn, refusals, wire)
        finally:
            # Only sets an outcome if the exchange was interrupted.
            recorder.stop()

    def _note_wait(self, seconds: float) -> None:
        detail = f"the endpoint asks to wait {show_seconds(seconds)}" if seconds else "waiting for its turn"
        self.on_status(Status(Phase.QUEUED, detail, seconds))

    async def _attempt(
        self, recorder: Recorder, run: Run, turn: RequestSlot, refusals: _Refusals, wire: WireLog | None
    ) -> float | None:
        """Send the request once and record its answer; return the seconds before a retry, None for none."""
        began = perf_counter()
        try:
            async with aclosing(self.client.stream(self.endpoint, run.request, wire=wire)) as events:
                async for event in events:
                    if type(event) is not Delta:
                        if isinstance(event, Error):
                            seconds = self._seconds_to_retry(event, refusals)
                            if seconds is not None:
                                return seconds
                        if isinstance(event, ResponseStarted):
                            self.limiter.answered(turn)
                        self._report(event)
                    recorder.take(event, perf_counter() - began)
        finally:
            run.total = perf_counter() - began
        return None

    def _seconds_to_retry(self, failed: Error, refusals: _Refusals) -> float | None:
        """Return the seconds before a retry; 0 if the limiter delays it, None if there is none."""
        error = failed.error
        is_sent_again = refusals.may_repeat(failed)
        seconds = refusals.pause(error)
        is_held = error.retry_after is not None or (is_sent_again and error.status == _TOO_MANY)
        if is_held:
            self.limiter.hold(seconds)
        if not is_sent_again:
            return None
        detail = _reason(error)
        if error.retry_after is not None:
            detail += f"; the endpoint asks to wait {show_seconds(error.retry_after)}"
        self.on_status(Status(Phase.RETRYING, detail, seconds, refusals.count))
        return 0.0 if is_held else seconds

    def _report(self, event: Event) -> None:
        match event:
            case RequestSent():
                self.on_status(Status(Phase.SENDING))
            case ResponseStarted():
                self.on_status(Status(Phase.WAITING))
            case KeepAlive(text):
                self.on_status(Status(Phase.WAITING, text))
            case End():
                self.on_status(Status(Phase.ENDED))


def _reason(error: EndpointError) -> str:
    return one_line(": ".join(filter(None, (error.title, error.message))))


_NO_ANSWER = Failure(
    "No answer received",
    "The endpoint ended its answer without any text or finish_reason.",
    "Send it again; if it stays so, check the model's name and the parameters, or the raw traffic.",
)


class Recorder:
    """Stores the events of a response in its run."""

    def __init__(self, run: Run, endpoint: Endpoint, choice_at: ChoiceAt) -> None:
        """`choice_at` returns the choice with an index, creating it if needed."""
        self._run = run
        self._choice_at = choice_at
        self._endpoint = endpoint
        self._failed = False
        self._is_done = False
        self._prompts: list[PromptTokens] = []
        run.raw_logprobs = endpoint.raw_logprobs

    def take(self, event: Event, at: float) -> None:
        """Store an event received `at` seconds after the request was sent."""
        if type(event) is Delta:
            choice = self._choice_at(event.choice)
            if event.replaces:
                _replace(choice, event.tokens)
            else:
                for token in event.tokens:
                    choice.append(token, at)
        else:
            self._take_other(event)

    def _take_other(self, event: Event) -> None:
        run = self._run
        match event:
            case RequestSent(body):
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
        """Set the outcome of an interrupted exchange; an answer that is already complete stays complete."""
        if self._run.outcome is not None:
            return
        if self._failed or self._is_done or self._is_whole:
            self._end(None)
        else:
            self._close(Outcome.STOPPED)

    def _end(self, error: EndpointError | None) -> None:
        run = self._run
        if error is not None and self._is_whole:
            run.note(f"the connection was lost after the whole answer: {_reason(error)}")
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
        """Whether every requested choice has a finish_reason."""
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
        """Set the outcome, and add remarks on anomalies of the answer."""
        run = self._run
        run.outcome = outcome
        run.choices = {index: run.choices[index] for index in sorted(run.choices)}
        mark_prompts(run, self._prompts)
        explain_missing_echo(run)
        for remark in _remarks(run, self._endpoint):
            run.note(remark)


def _replace(choice: Choice, tokens: Sequence[ReceivedToken]) -> None:
    """Replace the text of a choice by the tokens reported after it, at the times their text was received."""
    at: list[float] = []
    start = 0
    for token in tokens:
        at.append(choice.at[choice.token_at(start)])
        start += len(token.text)
    choice.replace(tokens, at)


def _remarks(run: Run, endpoint: Endpoint) -> Iterator[str]:
    """Yield a one-line remark for each anomaly of an answer."""
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
