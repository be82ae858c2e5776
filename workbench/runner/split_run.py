"""Send a run as several requests, for endpoints that answer one prompt or one choice per request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import astuple
from typing import TypeAlias

from msgspec import Struct

from workbench.domain.choice import Choice
from workbench.domain.endpoint import Endpoint
from workbench.domain.probe_findings import Probe, ProbeVerdict
from workbench.domain.prompt import PromptKind, count_prompts, kind_of
from workbench.domain.request import Request
from workbench.domain.run import Failure, Outcome, Run, Usage
from workbench.domain.split import NOT_SPLIT, Part, SentPart, Split, parts_of, seeds_of

_CANNOT = (ProbeVerdict.NO_EFFECT, ProbeVerdict.REFUSED)
_WORST_FIRST = (Outcome.ERROR, Outcome.STOPPED, Outcome.TRUNCATED, Outcome.UNFINISHED)


class SplitOffer(Struct, frozen=True):
    """A proposal to split a request that the endpoint would not answer in full."""

    split: Split
    requests: int
    """Number of requests after the split."""
    reason: str
    """The endpoint's limitation and how it is known, in one line."""

    @property
    def cost(self) -> str:
        """The additional cost of the split, in one line."""
        times = f"{self.requests} times"
        return f"Each prompt is processed {times}." if self.split.choices else "The cost is the same."


class Quirks(Struct, frozen=True):
    """Known limitations of an endpoint with several prompts and choices, in addition to its profile."""

    probe: Probe | None = None
    seen: Split = NOT_SPLIT
    """Whether earlier answers lacked prompts or choices."""


def offer_split(endpoint: Endpoint, request: Request, quirks: Quirks) -> SplitOffer | None:
    """Offer to split a request that the endpoint cannot answer in full; None if it can.

    Choices are never split with `best_of`, whose candidates are ranked within one request.
    """
    n, best_of = (request.parameters.number(name, 1) for name in ("n", "best_of"))
    reasons: list[str] = []
    choices = n > 1 and best_of <= 1 and bool(why := _why_one_choice(endpoint, n, quirks))
    if choices:
        reasons.append(why)
    prompts = count_prompts(request.prompt) > 1 and bool(
        why := _why_one_prompt(endpoint, kind_of(request.prompt), quirks)
    )
    if prompts:
        reasons.append(why)
    split = Split(prompts, choices)
    return SplitOffer(split, len(parts_of(request, split)), "; ".join(reasons)) if split else None


def _why_one_choice(endpoint: Endpoint, n: float, quirks: Quirks) -> str:
    limit = endpoint.limits.get("n")
    if endpoint.single_choice or "n" in endpoint.drop:
        return "its profile says that it answers one choice a request"
    if limit is not None and n > limit.high:
        return f"its profile allows n up to {limit.high:g}"
    if quirks.probe is not None and quirks.probe.verdict("n") in _CANNOT:
        return f"its probe found n {_found(quirks.probe.verdict('n'))}"
    return "it left choices out of an answer before" if quirks.seen.choices else ""


def _why_one_prompt(endpoint: Endpoint, kind: PromptKind, quirks: Quirks) -> str:
    feature = "two prompts" if kind is PromptKind.TEXTS else "lists of token ids"
    if endpoint.single_prompt:
        return "its profile says that it takes one prompt a request"
    if quirks.probe is not None and quirks.probe.verdict(feature) in _CANNOT:
        return f"its probe found several prompts {_found(quirks.probe.verdict(feature))}"
    return "it left prompts out of an answer before" if quirks.seen.prompts else ""


def _found(verdict: ProbeVerdict) -> str:
    return "refused" if verdict is ProbeVerdict.REFUSED else "ignored"


ChoiceAt: TypeAlias = Callable[[int], Choice]
"""Returns the choice with an index of the response, creating it if needed."""
SendPart: TypeAlias = Callable[[Run, ChoiceAt], Coroutine[None, None, None]]
"""Sends one request and stores the answer in its run and choices; errors are stored, never raised."""


async def send_apart(run: Run, split: Split, endpoint: Endpoint, send: SendPart) -> None:
    """Send a run as several requests, and merge their answers as they arrive.

    If requests fail, the run keeps the other answers, and its error gives the number of failures. On
    cancellation all requests stop.
    """
    parts = [
        _Sent(Run(part.request, run.endpoint), part.indexes, run) for part in parts_of(run.request, split)
    ]
    run.raw_logprobs = endpoint.raw_logprobs
    tasks = [asyncio.create_task(send(part.run, part.choice)) for part in parts]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        _join(run, parts)


class _Sent(Struct, frozen=True):
    """The run of one part; its choices are objects of the whole run, so that tokens appear there at once."""

    run: Run
    indexes: tuple[int, ...]
    """Indices of its choices in the whole run."""
    whole: Run

    def choice(self, index: int) -> Choice:
        """Return the choice of the whole run for an index of the part."""
        choices = self.run.choices
        if index not in choices:
            is_requested = index < len(self.indexes)
            choices[index] = self.whole.choice(self.indexes[index] if is_requested else self._unrequested())
        return choices[index]

    def _unrequested(self) -> int:
        """Return a new index after the requested ones, to keep surplus choices."""
        return max((self.whole.request.choices - 1, *self.whole.choices)) + 1


def _join(whole: Run, parts: Sequence[_Sent]) -> None:
    """Merge ids, usage, outcome, error and notes of the parts into the whole run."""
    runs = [part.run for part in parts]
    sent = [part for part in parts if part.run.sent]
    if sent:
        whole.sent = sent[0].run.sent
        whole.parts = tuple(map(_sent_part, sent))
    whole.response_id = next((run.response_id for run in runs if run.response_id), "")
    whole.created = next((run.created for run in runs if run.created is not None), None)
    models = list(dict.fromkeys(run.model for run in runs if run.model))
    whole.model = models[0] if models else ""
    whole.usage = _added([run.usage for run in runs if run.usage is not None])
    # A part that was cancelled before its first step has no outcome.
    outcomes = {run.outcome or Outcome.STOPPED for run in runs}
    whole.outcome = next((outcome for outcome in _WORST_FIRST if outcome in outcomes), Outcome.COMPLETE)
    whole.choices = {index: whole.choices[index] for index in sorted(whole.choices)}
    failed = [run.error for run in runs if run.error is not None]
    if failed:
        whole.error = _failure(failed[0], len(failed), len(parts))
    whole.note(_how(whole, parts))
    for run in runs:
        for note in run.notes:
            whole.note(note)
    if len(models) > 1:
        whole.note(f"{len(models)} models answered")
    if whole.usage is not None and any(run.usage is None for run in runs):
        whole.note("some requests reported no usage")


def _sent_part(part: _Sent) -> SentPart:
    sent, whole = part.run.sent, part.whole.sent
    changes = {name: value for name, value in sent.items() if whole.get(name) != value}
    return SentPart(part.indexes, changes, part.run.response_id)


def _added(usages: Sequence[Usage]) -> Usage | None:
    if not usages:
        return None
    return Usage(*map(sum, zip(*map(astuple, usages), strict=True)))


def _failure(first: Failure, failed: int, requests: int) -> Failure:
    if failed == 1 == requests:
        return first
    title = f"{failed} of {requests} requests failed: {first.title}"
    return Failure(title, first.message, first.hint, first.status, first.request_id)


def _how(run: Run, parts: Sequence[_Sent]) -> str:
    """Describe how the run was split, with the range of seeds."""
    split = run.split or NOT_SPLIT
    each = " and ".join(
        name for name, is_split in (("prompt", split.prompts), ("choice", split.choices)) if is_split
    )
    sent = sum(bool(part.run.sent) for part in parts)
    count = f"{len(parts)}" if sent == len(parts) else f"{sent} of {len(parts)}"
    note = f"sent as {count} requests, one for each {each}"
    seeds = seeds_of(tuple(Part(part.run.request, part.indexes) for part in parts))
    if not split.choices:
        return note
    if len(seeds) > 1:
        return f"{note}, with seeds {seeds[0]} to {seeds[-1]}"
    return note if seeds else f"{note}, without a seed"
