"""One run: its request sent, its answer stored as it comes, its outcome named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from math import isnan
from time import perf_counter

from workbench.client.client import Client
from workbench.client.events import (
    Alive,
    Answering,
    Delta,
    DoneReceived,
    Ended,
    Event,
    Failed,
    Finished,
    Noted,
    PromptTold,
    Retrying,
    Started,
    Told,
    UsageTold,
)
from workbench.client.wire import WireLog
from workbench.domain.choice import Choice, Piece
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.run import Failure, Outcome, Run, Usage
from workbench.runner.echo import mark_prompts
from workbench.runner.splitting import send_apart
from workbench.runner.status import Phase, Status


async def execute(
    client: Client,
    endpoint: Endpoint,
    run: Run,
    *,
    on_status: Callable[[Status], None] | None = None,
    wire: WireLog | None = None,
) -> None:
    """Send the run's request and fill the run with what comes; a run that is split goes as several requests.

    Errors end in `run.error`, never as exceptions. On cancellation the connection closes at once, the run
    is stopped with the text that came, and the cancellation goes on. `wire` records the exchange, the
    first of several.
    """
    began = perf_counter()
    if not run.split:
        await _exchange(client, endpoint, run, began, on_status=on_status, wire=wire)
        return

    wires = iter([wire])

    async def send(part: Run) -> None:
        await _exchange(client, endpoint, part, began, on_status=on_status, wire=next(wires, None))

    try:
        await send_apart(run, run.split, endpoint, send)
    finally:
        run.total = perf_counter() - began


async def _exchange(
    client: Client,
    endpoint: Endpoint,
    run: Run,
    began: float,
    *,
    on_status: Callable[[Status], None] | None,
    wire: WireLog | None,
) -> None:
    recorder = Recorder(run, endpoint)
    try:
        async with aclosing(client.stream(endpoint, run.request, wire=wire)) as events:
            async for event in events:
                recorder.take(event, perf_counter() - began)
                if on_status is not None and type(event) is not Delta:
                    _tell(event, on_status)
    finally:
        # An exchange that came to its end has named the outcome already.
        recorder.stop()
        run.total = perf_counter() - began


def _tell(event: Event, on_status: Callable[[Status], None]) -> None:
    match event:
        case Started():
            on_status(Status(Phase.SENDING))
        case Retrying(seconds, attempt, error):
            on_status(Status(Phase.RETRYING, _words(error), seconds, attempt))
        case Answering():
            on_status(Status(Phase.WAITING))
        case Alive(text):
            on_status(Status(Phase.WAITING, text))
        case Ended():
            on_status(Status(Phase.ENDED))


def _words(error: EndpointError) -> str:
    return one_line(": ".join(filter(None, (error.title, error.message))))


_NO_ANSWER = Failure(
    "No answer came",
    "The endpoint ended its answer without any text or finish_reason.",
    "Send it again; if it stays so, check the model's name and the parameters, or the raw traffic.",
)


class Recorder:
    """Fills a run from the events of its exchange."""

    def __init__(self, run: Run, endpoint: Endpoint) -> None:
        self._run = run
        self._endpoint = endpoint
        self._failed = False
        self._is_done = False
        self._prompts: list[PromptTold] = []
        run.raw_logprobs = endpoint.raw_logprobs

    def take(self, event: Event, at: float) -> None:
        """Store an event that came `at` seconds after the request."""
        run = self._run
        if type(event) is Delta:
            choice = run.choice(event.choice)
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
            case Started(_, body):
                run.sent = body
            case Told(response_id, model, created):
                run.response_id, run.model = response_id or run.response_id, model or run.model
                run.created = run.created if created is None else created
            case Finished(index, reason):
                run.choice(index).finish_reason = reason
            case UsageTold(usage):
                run.usage = usage if run.usage is None or usage != Usage() else run.usage
            case Noted(text):
                run.note(text)
            case PromptTold():
                self._prompts.append(event)
            case Failed(error):
                run.error = run.error or Failure.of(error)
                self._failed = True
            case DoneReceived():
                self._is_done = True
            case Ended(error):
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
            run.note(f"the connection broke off after the whole answer: {_words(error)}")
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
        for remark in _remarks(run, self._endpoint):
            run.note(remark)


def _replace(choice: Choice, pieces: Sequence[Piece]) -> None:
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
    answered = run.outcome in (Outcome.COMPLETE, Outcome.UNFINISHED)
    if answered and len(run.choices) < request.choices:
        yield f"server returned {len(run.choices)} of {request.choices} choices"
    if run.model and request.model and run.model != request.model:
        yield f"answered by {one_line(run.model, 120)}, not {one_line(request.model, 120)}"
    if answered and request.parameters.get("logprobs") is not None and run.tokens and not _has_logprobs(run):
        yield "logprobs were asked for, but none came"
    if dropped := [name for name in request.parameters.values if name in endpoint.drop]:
        yield f"not sent, as this endpoint does not take it: {', '.join(dropped)}"
    if run.outcome is Outcome.UNFINISHED:
        yield "the answer ended without a finish_reason"
    if run.outcome is Outcome.TRUNCATED:
        yield "the answer ended without its end being marked: it may be cut"


def _has_logprobs(run: Run) -> bool:
    return any(not isnan(one) for choice in run.choices.values() for one in choice.logprobs)
