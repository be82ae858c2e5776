"""Probe which request fields an endpoint honours, with some twenty small requests.

A field is honoured if it changes an answer as expected. Greedy answers are the reference: a filter that keeps
only the likeliest token (`top_k` 1, `min_p` 1, a tiny `top_p`) must give the greedy text at any temperature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from workbench.client.wire_log import WireLog
from workbench.domain.choice import Choice
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.json_values import JsonObject
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.connections import Connections

MOST_TOKENS = 12
"""Maximum number of tokens that a request generates, per choice."""
MOST_REQUESTS = 22
"""Maximum number of requests of a probe."""

_NOTHING: Mapping[str, ParameterValue] = MappingProxyType({})
_NO_EXTRA: JsonObject = MappingProxyType({})
_PROSE = TextPrompt("The best thing about living by the sea is")
"""Prompt of most requests."""
_LOOP = TextPrompt("la la la la la la la la")
_IDS = ((11, 12, 13), (14, 15, 16))
_HOT: Mapping[str, ParameterValue] = MappingProxyType({"temperature": 2.0, "seed": 7})
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
        self._connections = connections
        # No retries, so that the number of requests shown is exact; fields the profile drops are probed too.
        self._endpoint = endpoint._replace(drop=frozenset(), retries=0)
        self._model = self._answered_by = model or endpoint.model
        self._on_request = on_request
        self._sent = 0
        self._findings: list[Finding] = []
        self._wire = WireLog()
        self._is_partial = True

    @property
    def found(self) -> Probe:
        """The findings so far."""
        now, findings = datetime.now(UTC), tuple(self._findings)
        return Probe(self._endpoint.name, self._answered_by, now, self._sent, findings, self._is_partial)

    async def run(self) -> None:
        """Send all requests. Raises EndpointError if the first, plain request fails."""
        greedy = await self._ask("a plain request, streamed", {"logprobs": 5})
        if greedy.error is not None:
            raise greedy.error.as_error()
        self._answered_by = greedy.model or self._model
        self._judge_plain(greedy)
        await self._probe_usage_and_streams(greedy)
        hot = await self._probe_sampling(greedy)
        await self._probe_filters(greedy, hot)
        await self._probe_penalties()
        await self._probe_stop(greedy)
        await self._probe_bias(greedy)
        await self._probe_logprobs(greedy, hot)
        await self._probe_choices()
        await self._probe_prompts()
        self._is_partial = False

    async def _ask(
        self,
        purpose: str,
        values: Mapping[str, ParameterValue] = _NOTHING,
        *,
        prompt: Prompt = _PROSE,
        extra: JsonObject = _NO_EXTRA,
    ) -> Run:
        """Send one request; `purpose` is shown to the person."""
        self._sent += 1
        self._on_request(self._sent, purpose)
        parameters = Parameters({"max_tokens": MOST_TOKENS, "temperature": 0, **values}, extra)
        run = Run(Request(prompt, self._model, parameters), self._endpoint.name)
        await self._connections.send(self._endpoint, run, wire=self._wire)
        return run

    def _find(self, name: str, verdict: ProbeVerdict, evidence: str) -> None:
        """Add a finding."""
        self._findings.append(Finding(name, verdict, one_line(evidence, 200)))

    def _judge(self, name: str, run: Run, honoured: bool, yes: str, no: str) -> None:
        """Add the finding of an answer: its failure, else `yes` or `no` as evidence."""
        verdict = ProbeVerdict.HONOURED if honoured else ProbeVerdict.NO_EFFECT
        self._find(name, *(_failure_of(run) or (verdict, yes if honoured else no)))

    def _judge_plain(self, greedy: Run) -> None:
        choice, chunks = _first_choice(greedy), self._wire.count
        shape = logprobs_shape(bytes(self._wire.answer))
        evidence = f"{_most_alternatives(greedy)} of 5 requested alternatives returned"
        known = any(token.logprob is not None for token in choice)
        yes = f"{evidence}, {shape}" if shape else evidence
        self._judge("logprobs", greedy, known, yes, "none returned in a stream")
        streamed = ProbeVerdict.HONOURED if chunks > 1 else ProbeVerdict.UNKNOWN
        self._find("stream", streamed, f"{chunks} chunks received")
        tokens = greedy.usage.completion_tokens if greedy.usage else len(choice)
        yes, no = (
            f"{tokens} tokens, finish_reason {choice.finish_reason}",
            f"{tokens} tokens in place of {MOST_TOKENS}",
        )
        self._judge("max_tokens", greedy, 0 < tokens <= MOST_TOKENS, yes, no)

    async def _probe_usage_and_streams(self, greedy: Run) -> None:
        silent = await self._ask("without stream_options", {"include_usage": False})
        requested, unrequested = greedy.usage is not None, silent.usage is not None
        evidence = {
            (True, False): "usage returned when requested",
            (True, True): "usage always returned",
            (False, False): "usage never returned in a stream",
            (False, True): "usage returned only when not requested",
        }[requested, unrequested]
        self._judge("include_usage", silent, requested and not unrequested, evidence, evidence)
        whole = await self._ask("the same, not streamed", {"stream": False, "logprobs": 5})
        usage = "usage not returned" if whole.usage is None else "usage returned"
        self._judge("stream = off", whole, bool(_text_of(whole)), usage, "no text returned")
        yes = "twice the same text at temperature 0"
        is_same = _text_of(whole) == _text_of(greedy)
        self._judge("greedy repeats", whole, is_same, yes, f"then {_quoted(whole)}")

    async def _probe_sampling(self, greedy: Run) -> Run:
        hot = await self._ask("high temperature, with a seed", {**_HOT, "logprobs": 5})
        again = await self._ask("the same seed again", {**_HOT, "logprobs": 5})
        other = await self._ask("another seed", {**_HOT, "seed": 8})
        differs = _text_of(hot) != _text_of(greedy) or _text_of(other) != _text_of(greedy)
        no = "high temperature and greedy gave the same text"
        self._judge("temperature", hot, differs, f"at 2: {_quoted(hot)}", no)
        if failed := _failure_of(again) or _failure_of(hot):
            self._find("seed", *failed)
        elif _text_of(hot) == _text_of(again) == _text_of(other):
            self._find("seed", ProbeVerdict.UNKNOWN, "two seeds gave one text")
        else:
            is_repeated = _text_of(hot) == _text_of(again)
            yes, no = "one seed repeats, another differs", "one seed gave two texts"
            self._judge("seed", again, is_repeated, yes, no)
        return hot

    async def _probe_filters(self, greedy: Run, hot: Run) -> None:
        tight: dict[str, float] = {"top_p": 0.0001, "top_k": 1, "min_p": 1}
        for name, value in tight.items():
            run = await self._ask(f"high temperature, with {name} {value:g}", {**_HOT, name: value})
            if _text_of(hot) == _text_of(greedy) and _failure_of(run) is None:
                why = "high temperature changes nothing, so there is nothing to filter"
                self._find(name, ProbeVerdict.UNKNOWN, why)
                continue
            yes, no = "leaves only the likeliest tokens", f"at {value:g} still {_quoted(run)}"
            self._judge(name, run, _text_of(run) == _text_of(greedy), yes, no)

    async def _probe_penalties(self) -> None:
        plain = await self._ask("a prompt that repeats", prompt=_LOOP)
        for name in ("frequency_penalty", "presence_penalty", "repetition_penalty"):
            run = await self._ask(f"with {name} 2", {name: 2}, prompt=_LOOP)
            if failed := _failure_of(plain):
                self._find(name, *failed)
                continue
            differs, text = _text_of(run) != _text_of(plain), _quoted(run)
            self._judge(name, run, differs, f"gave {text}", f"still {text}")

    async def _probe_stop(self, greedy: Run) -> None:
        words = _text_of(greedy).split()
        if len(words) < 3:
            self._find("stop", ProbeVerdict.UNKNOWN, "the plain answer has too few words to stop at")
            return
        word = words[2]
        run = await self._ask("with a stop text", {"stop": (word,)})
        text, most = _text_of(run), _text_of(greedy).find(word) + len(word)
        stopped = len(text) <= most and _text_of(greedy).startswith(text.rstrip())
        self._judge("stop", run, stopped, "ends there", f"continues: {_quoted(run)}")
        if _failure_of(run) is None and stopped:
            yes, no = "the stop text ends the answer", "the stop text is cut off"
            self._judge("stop text included", run, text.endswith(word), yes, no)

    async def _probe_bias(self, greedy: Run) -> None:
        first = _first_choice(greedy)
        token = first.id_of(0) if len(first) else None
        biases: dict[str, float] = {str(_IDS[0][0]): 100} if token is None else {str(token): -100}
        run = await self._ask("with a token forced or forbidden", {"logit_bias": biases})
        differs = _text_of(run) != _text_of(greedy)
        self._judge("logit_bias", run, differs, f"gave {_quoted(run)}", "the text stayed")

    async def _probe_logprobs(self, greedy: Run, hot: Run) -> None:
        many = await self._ask("with 20 logprobs", extra={"logprobs": 20})
        most = _most_alternatives(many)
        evidence = f"{most} alternatives returned"
        self._judge("logprobs = 20", many, most >= 20, evidence, evidence)
        # The first token follows the same prompt in both, so raw logprobs must not depend on the temperature.
        cold, warm = _first_logprobs(greedy), _first_logprobs(hot)
        if not (shared := [abs(cold[text] - warm[text]) for text in cold.keys() & warm.keys()]):
            self._find("raw logprobs", ProbeVerdict.UNKNOWN, "no logprobs to compare")
            return
        yes, no = "the same at every temperature", f"temperature moves them by {max(shared):.2f} nats"
        self._judge("raw logprobs", greedy, max(shared) <= _NEARLY, yes, no)

    async def _probe_choices(self) -> None:
        two = await self._ask("two choices", {"n": 2, "temperature": 1})
        returned = len(two.choices)
        self._judge("n", two, returned == 2, "2 choices returned", f"{returned} of 2 returned")
        best = await self._ask("the best of two", {"best_of": 2, "temperature": 1})
        counted, of_two = (run.usage.completion_tokens if run.usage else 0 for run in (best, two))
        no = "accepted, but the usage counts one candidate"
        if _failure_of(best) is None and max(counted, of_two) <= MOST_TOKENS:
            # Usage that does not count both choices of n = 2 cannot show whether best_of ran two candidates.
            self._find("best_of", ProbeVerdict.UNKNOWN, f"{no}, as it does for n = 2")
        else:
            yes = f"the usage counts {counted} tokens"
            self._judge("best_of", best, counted > MOST_TOKENS, yes, no)
        echo = await self._ask("with echo", extra={"echo": True})
        is_echoed = _text_of(echo).startswith(_PROSE.text)
        self._judge("echo", echo, is_echoed, "the text begins with the prompt", "not in the text")

    async def _probe_prompts(self) -> None:
        kinds: tuple[tuple[str, str, Prompt, int], ...] = (
            ("two prompts", "two prompts", TextsPrompt((_PROSE.text, _LOOP.text)), 2),
            ("token ids", "a prompt of token ids", TokensPrompt(_IDS[0]), 1),
            ("lists of token ids", "a prompt of lists of token ids", TokenListsPrompt(_IDS), 2),
        )
        for name, purpose, prompt, expected in kinds:
            run = await self._ask(purpose, prompt=prompt)
            count = len(run.choices)
            yes, no = f"{expected} answered", f"{count} of {expected} answered"
            self._judge(name, run, count == expected, yes, no)


def _failure_of(run: Run) -> tuple[ProbeVerdict, str] | None:
    """Return verdict and evidence for a run without an answer; None if it has one."""
    if run.error is None:
        return None if run.choices else (ProbeVerdict.UNKNOWN, "no choice returned")
    evidence = f"{run.error.status or ''} {run.error.message or run.error.title}".strip()
    status = run.error.status
    refused = status is not None and (400 <= status < 500 or status == 501) and status not in (401, 408, 429)
    # A dropped connection is not a refusal: the server may reject the field, or the network failed.
    return (ProbeVerdict.REFUSED if refused else ProbeVerdict.UNKNOWN), evidence


def _first_choice(run: Run) -> Choice:
    """Return the first choice of a run, or an empty choice if there is none."""
    return run.ordered[0] if run.choices else Choice(0)


def _most_alternatives(run: Run) -> int:
    """Return the maximum number of alternatives per token of the first choice."""
    return max((len(token.alternatives) for token in _first_choice(run)), default=0)


def _first_logprobs(run: Run) -> dict[str, float]:
    """Return the logprobs (in nats) of the first token's alternatives, by text."""
    choice = _first_choice(run)
    listed = choice.alternatives_of(0) if len(choice) else ()
    return {other.text: other.logprob for other in listed if other.logprob is not None}


def _text_of(run: Run) -> str:
    return _first_choice(run).text


def _quoted(run: Run) -> str:
    """Quote the text of the first choice for use in evidence."""
    return f"“{one_line(_text_of(run), 40)}”"


_SHAPES = {
    "as a list of tokens (chat format)": re.compile(rb'"logprobs"\s*:\s*\{\s*"content"\s*:\s*\['),
    "as parallel arrays": re.compile(rb'"logprobs"\s*:\s*\{[^{}]*"(?:tokens|token_logprobs|text_offset)"'),
    "as one number per chunk": re.compile(rb'"logprobs"\s*:\s*-?\d'),
}


def logprobs_shape(answer: bytes) -> str:
    """Describe the format of the logprobs in a raw answer; empty if it is unknown."""
    found = ((match.start(), shape) for shape, regex in _SHAPES.items() if (match := regex.search(answer)))
    return min(found, default=(0, ""))[1]
