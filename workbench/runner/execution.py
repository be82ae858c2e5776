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
        recorder.close(Outcome.STOPPED)
        run.total = perf_counter() - began


def _tell(event: Event, on_status: Callable[[Status], None]) -> None:
    match event:
        case Started():
            on_status(Status(Phase.SENDING))
        case Retrying(seconds, attempt, error):
            words = ": ".join(filter(None, (error.title, error.message)))
            on_status(Status(Phase.RETRYING, one_line(words), seconds, attempt))
        case Answering():
            on_status(Status(Phase.WAITING))
        case Alive(text):
            on_status(Status(Phase.WAITING, text))
        case Ended():
            on_status(Status(Phase.ENDED))


class Recorder:
    """Fills a run from the events of its exchange."""

    def __init__(self, run: Run, endpoint: Endpoint) -> None:
        self._run = run
        self._endpoint = endpoint
        self._failed = False
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
            case Ended(marked, error):
                self.close(self._outcome(marked=marked))
                if error is not None and run.outcome is Outcome.TRUNCATED:
                    run.error = Failure.of(error)

    def close(self, outcome: Outcome) -> None:
        """Name the outcome, unless it is named already, and say what is odd about the answer."""
        run = self._run
        if run.outcome is not None:
            return
        run.outcome = outcome
        run.choices = {index: run.choices[index] for index in sorted(run.choices)}
        mark_prompts(run, self._prompts)
        for remark in _remarks(run, self._endpoint):
            run.note(remark)

    def _outcome(self, *, marked: bool) -> Outcome:
        choices = self._run.choices.values()
        if self._failed:
            return Outcome.ERROR
        if choices and all(choice.finish_reason is not None for choice in choices):
            return Outcome.COMPLETE
        return Outcome.UNFINISHED if marked else Outcome.TRUNCATED


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
