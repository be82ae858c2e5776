"""Probe which request fields an endpoint honours, with some twenty small requests.

A field is honoured if it changes an answer as expected. Greedy answers are the reference: a filter that keeps
only the likeliest token (`top_k` 1, `min_p` 1, a tiny `top_p`) must give the greedy text at any temperature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from types import MappingProxyType

from workbench.client.wire_log import WireLog
from workbench.domain.choice import Choice
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.json_values import JsonObject
from workbench.domain.parameters import ParameterValue
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run
from workbench.runner.connections import Connections

MOST_TOKENS = 12
"""Maximum number of tokens that a request generates, per choice."""

PROSE = "The best thing about living by the sea is"
"""Prompt of most requests."""

_NOTHING: Mapping[str, ParameterValue] = MappingProxyType({})
_NO_EXTRA: JsonObject = MappingProxyType({})


@dataclass(slots=True)
class ProbeRequests:
    """Sends the requests of a probe and collects its findings."""

    connections: Connections
    endpoint: Endpoint
    model: str
    on_request: Callable[[int, str], None]
    sent: int = 0
    findings: list[Finding] = field(default_factory=list)
    wire: WireLog = field(default_factory=WireLog)

    async def ask(
        self,
        purpose: str,
        values: Mapping[str, ParameterValue] = _NOTHING,
        *,
        prompt: Prompt | str = PROSE,
        extra: JsonObject = _NO_EXTRA,
    ) -> Run:
        """Send one request; `purpose` is shown to the person."""
        self.sent += 1
        self.on_request(self.sent, purpose)
        parameters = Parameters({"max_tokens": MOST_TOKENS, "temperature": 0, **values}, extra)
        text = TextPrompt(prompt) if isinstance(prompt, str) else prompt
        run = Run(Request(text, self.model, parameters), self.endpoint.name)
        await self.connections.send(self.endpoint, run, wire=self.wire)
        return run

    def find(self, name: str, verdict: ProbeVerdict, evidence: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(name, verdict, one_line(evidence, 200)))

    def judge(self, name: str, run: Run, honoured: bool, yes: str, no: str) -> None:
        """Add the finding of an answer: its failure, else `yes` or `no` as evidence."""
        if failed := failure_of(run):
            self.find(name, *failed)
        elif honoured:
            self.find(name, ProbeVerdict.HONOURED, yes)
        else:
            self.find(name, ProbeVerdict.NO_EFFECT, no)


def failure_of(run: Run) -> tuple[ProbeVerdict, str] | None:
    """Return verdict and evidence for a run without an answer; None if it has one."""
    if run.error is None:
        return None if run.choices else (ProbeVerdict.UNKNOWN, "no choice returned")
    evidence = f"{run.error.status or ''} {run.error.message or run.error.title}".strip()
    status = run.error.status
    refused = status is not None and (400 <= status < 500 or status == 501) and status not in (401, 408, 429)
    # A dropped connection is not a refusal: the server may reject the field, or the network failed.
    return (ProbeVerdict.REFUSED if refused else ProbeVerdict.UNKNOWN), evidence


def first_choice(run: Run) -> Choice:
    """Return the first choice of a run, or an empty choice if there is none."""
    return run.ordered[0] if run.choices else Choice(0)


def most_alternatives(choice: Choice) -> int:
    """Return the maximum number of alternatives per token."""
    return max((len(token.alternatives) for token in choice), default=0)


def first_logprobs(run: Run) -> dict[str, float]:
    """Return the logprobs (in nats) of the first token's alternatives, by text."""
    tokens = islice(first_choice(run), 1)
    listed = (alternative for token in tokens for alternative in token.alternatives)
    return {text: logprob for text, logprob, *_ in listed if logprob is not None}


def text_of(run: Run) -> str:
    """Return the text of the first choice."""
    return first_choice(run).text


def quoted(text: str) -> str:
    """Quote a text for use in evidence."""
    return f"“{one_line(text, 40)}”"


_SHAPES = {
    "as a list of tokens (chat format)": re.compile(rb'"logprobs"\s*:\s*\{\s*"content"\s*:\s*\['),
    "as parallel arrays": re.compile(rb'"logprobs"\s*:\s*\{[^{}]*"(?:tokens|token_logprobs|text_offset)"'),
    "as one number per chunk": re.compile(rb'"logprobs"\s*:\s*-?\d'),
}


def logprobs_shape(answer: bytes) -> str:
    """Describe the format of the logprobs in a raw answer; empty if it is unknown."""
    found = ((match.start(), shape) for shape, regex in _SHAPES.items() if (match := regex.search(answer)))
    return min(found, default=(0, ""))[1]


MOST_REQUESTS = 22
"""Maximum number of requests of a probe."""

_LOOP = "la la la la la la la la"
_IDS = ((11, 12, 13), (14, 15, 16))
_HOT = 2.0
_SEED = 7
_NEARLY = 0.05
"""Tolerance in nats for equal logprobs of two requests, as engines round."""


class Probing:
    """A running probe; `found` has the findings so far, even after cancellation."""

    def __init__(
        self,
        connections: Connections,
        endpoint: Endpoint,
        model: str = "",
        *,
        on_request: Callable[[int, str], None] = lambda number, purpose: None,
    ) -> None:
        """`on_request` receives the number and purpose of each request before it is sent."""
        # No retries, so that the number of requests shown is exact; fields the profile drops are probed too.
        open_endpoint = endpoint._replace(drop=frozenset(), retries=0)
        self._answers = ProbeRequests(connections, open_endpoint, model or endpoint.model, on_request)
        self._answered_by = self._answers.model
        self._is_partial = True

    @property
    def found(self) -> Probe:
        """The findings so far."""
        answers = self._answers
        return Probe(
            answers.endpoint.name,
            self._answered_by,
            datetime.now(UTC),
            answers.sent,
            tuple(answers.findings),
            self._is_partial,
        )

    async def run(self) -> None:
        """Send all requests. Raises EndpointError if the first, plain request fails."""
        answers = self._answers
        greedy = await answers.ask("a plain request, streamed", {"logprobs": 5})
        if greedy.error is not None:
            raise greedy.error.as_error()
        self._answered_by = greedy.model or answers.model
        _judge_plain(answers, greedy)
        await _probe_usage_and_streams(answers, greedy)
        hot = await _probe_sampling(answers, greedy)
        await _probe_filters(answers, greedy, hot)
        await _probe_penalties(answers)
        await _probe_stop_and_bias(answers, greedy)
        await _probe_logprobs(answers, greedy, hot)
        await _probe_choices(answers)
        await _probe_prompts(answers)
        self._is_partial = False


def _judge_plain(answers: ProbeRequests, greedy: Run) -> None:
    choice = first_choice(greedy)
    chunks = answers.wire.count
    most = most_alternatives(choice)
    shape = logprobs_shape(bytes(answers.wire.answer))
    evidence = f"{most} of 5 requested alternatives returned{', ' * bool(shape)}{shape}"
    known = any(token.logprob is not None for token in choice)
    answers.judge("logprobs", greedy, known, evidence, "none returned in a stream")
    answers.find(
        "stream", ProbeVerdict.HONOURED if chunks > 1 else ProbeVerdict.UNKNOWN, f"{chunks} chunks received"
    )
    tokens = greedy.usage.completion_tokens if greedy.usage else len(choice)
    fits = 0 < tokens <= MOST_TOKENS
    answers.judge(
        "max_tokens",
        greedy,
        fits,
        f"{tokens} tokens, finish_reason {choice.finish_reason}",
        f"{tokens} tokens in place of {MOST_TOKENS}",
    )


async def _probe_usage_and_streams(answers: ProbeRequests, greedy: Run) -> None:
    silent = await answers.ask("without stream_options", {"include_usage": False})
    requested, unrequested = greedy.usage is not None, silent.usage is not None
    evidence = {
        (True, False): "usage returned when requested",
        (True, True): "usage always returned",
        (False, False): "usage never returned in a stream",
        (False, True): "usage returned only when not requested",
    }[requested, unrequested]
    answers.judge("include_usage", silent, requested and not unrequested, evidence, evidence)
    whole = await answers.ask("the same, not streamed", {"stream": False, "logprobs": 5})
    usage = f"usage {'not ' * (whole.usage is None)}returned"
    answers.judge("stream = off", whole, bool(text_of(whole)), usage, "no text returned")
    same = text_of(whole) == text_of(greedy)
    answers.judge(
        "greedy repeats",
        whole,
        same,
        "twice the same text at temperature 0",
        f"then {quoted(text_of(whole))}",
    )


async def _probe_sampling(answers: ProbeRequests, greedy: Run) -> Run:
    seeded: dict[str, ParameterValue] = {"temperature": _HOT, "seed": _SEED}
    hot = await answers.ask("high temperature, with a seed", seeded | {"logprobs": 5})
    again = await answers.ask("the same seed again", seeded | {"logprobs": 5})
    other = await answers.ask("another seed", seeded | {"seed": _SEED + 1})
    differs = text_of(hot) != text_of(greedy) or text_of(other) != text_of(greedy)
    answers.judge(
        "temperature",
        hot,
        differs,
        f"at {_HOT:g}: {quoted(text_of(hot))}",
        "high temperature and greedy gave the same text",
    )
    if failed := failure_of(again) or failure_of(hot):
        answers.find("seed", *failed)
    elif text_of(hot) != text_of(again):
        answers.find("seed", ProbeVerdict.NO_EFFECT, "one seed gave two texts")
    elif text_of(hot) == text_of(other):
        answers.find("seed", ProbeVerdict.UNKNOWN, "two seeds gave one text")
    else:
        answers.find("seed", ProbeVerdict.HONOURED, "one seed repeats, another differs")
    return hot


async def _probe_filters(answers: ProbeRequests, greedy: Run, hot: Run) -> None:
    tight: dict[str, float] = {"top_p": 0.0001, "top_k": 1, "min_p": 1}
    for name, value in tight.items():
        run = await answers.ask(
            f"high temperature, with {name} {value:g}", {"temperature": _HOT, "seed": _SEED, name: value}
        )
        if text_of(hot) == text_of(greedy) and failure_of(run) is None:
            answers.find(
                name, ProbeVerdict.UNKNOWN, "high temperature changes nothing, so there is nothing to filter"
            )
            continue
        answers.judge(
            name,
            run,
            text_of(run) == text_of(greedy),
            "leaves only the likeliest tokens",
            f"at {value:g} still {quoted(text_of(run))}",
        )


async def _probe_penalties(answers: ProbeRequests) -> None:
    plain = await answers.ask("a prompt that repeats", prompt=_LOOP)
    strong: dict[str, float] = {"frequency_penalty": 2, "presence_penalty": 2, "repetition_penalty": 2}
    for name, value in strong.items():
        run = await answers.ask(f"with {name} {value:g}", {name: value}, prompt=_LOOP)
        if failed := failure_of(plain):
            answers.find(name, *failed)
            continue
        answers.judge(
            name,
            run,
            text_of(run) != text_of(plain),
            f"gave {quoted(text_of(run))}",
            f"still {quoted(text_of(run))}",
        )


async def _probe_stop_and_bias(answers: ProbeRequests, greedy: Run) -> None:
    words = text_of(greedy).split()
    if len(words) < 3:
        answers.find("stop", ProbeVerdict.UNKNOWN, "the plain answer has too few words to stop at")
    else:
        word = words[2]
        before = text_of(greedy).find(word)
        run = await answers.ask("with a stop text", {"stop": (word,)})
        text = text_of(run)
        stopped = len(text) <= before + len(word) and text_of(greedy).startswith(text.rstrip())
        answers.judge("stop", run, stopped, "ends there", f"continues: {quoted(text)}")
        if failure_of(run) is None and stopped:
            kept, ending = text.endswith(word), "the stop text ends the answer"
            answers.judge("stop text included", run, kept, ending, "the stop text is cut off")
    token = first_choice(greedy).id_of(0) if len(first_choice(greedy)) else None
    biases: dict[str, float] = {str(_IDS[0][0]): 100} if token is None else {str(token): -100}
    run = await answers.ask("with a token forced or forbidden", {"logit_bias": biases})
    answers.judge(
        "logit_bias", run, text_of(run) != text_of(greedy), f"gave {quoted(text_of(run))}", "the text stayed"
    )


async def _probe_logprobs(answers: ProbeRequests, greedy: Run, hot: Run) -> None:
    many = await answers.ask("with 20 logprobs", extra={"logprobs": 20})
    most = most_alternatives(first_choice(many))
    evidence = f"{most} alternatives returned"
    answers.judge("logprobs = 20", many, most >= 20, evidence, evidence)
    # The first token follows the same prompt in both, so raw logprobs must not depend on the temperature.
    cold, warm = first_logprobs(greedy), first_logprobs(hot)
    shared = [abs(cold[text] - warm[text]) for text in cold.keys() & warm.keys()]
    if not shared:
        answers.find("raw logprobs", ProbeVerdict.UNKNOWN, "no logprobs to compare")
    else:
        moved = f"temperature moves them by {max(shared):.2f} nats"
        is_raw = max(shared) <= _NEARLY
        answers.judge("raw logprobs", greedy, is_raw, "the same at every temperature", moved)


async def _probe_choices(answers: ProbeRequests) -> None:
    two = await answers.ask("two choices", {"n": 2, "temperature": 1})
    answers.judge("n", two, len(two.choices) == 2, "2 choices returned", f"{len(two.choices)} of 2 returned")
    best = await answers.ask("the best of two", {"best_of": 2, "temperature": 1})
    counted, of_two = (run.usage.completion_tokens if run.usage else 0 for run in (best, two))
    evidence = "accepted, but the usage counts one candidate"
    if failure_of(best) is None and max(counted, of_two) <= MOST_TOKENS:
        # If usage does not count both choices of n = 2, it cannot show whether best_of ran two candidates.
        answers.find("best_of", ProbeVerdict.UNKNOWN, f"{evidence}, as it does for n = 2")
    else:
        answers.judge("best_of", best, counted > MOST_TOKENS, f"the usage counts {counted} tokens", evidence)
    echo = await answers.ask("with echo", extra={"echo": True})
    answers.judge(
        "echo", echo, text_of(echo).startswith(PROSE), "the text begins with the prompt", "not in the text"
    )


async def _probe_prompts(answers: ProbeRequests) -> None:
    kinds: dict[str, tuple[Prompt, int]] = {
        "two prompts": (TextsPrompt((PROSE, _LOOP)), 2),
        "token ids": (TokensPrompt(_IDS[0]), 1),
        "lists of token ids": (TokenListsPrompt(_IDS), 2),
    }
    for name, (prompt, expected) in kinds.items():
        run = await answers.ask(f"a prompt of {name}" if name != "two prompts" else name, prompt=prompt)
        answers.judge(
            name,
            run,
            len(run.choices) == expected,
            f"{expected} answered",
            f"{len(run.choices)} of {expected} answered",
        )
