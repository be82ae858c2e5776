"""The questions of a probe: one tiny request each, and what its answer shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

from workbench.client.wire_log import WireLog
from workbench.domain.choice import Choice
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.json_values import JsonObject
from workbench.domain.parameters import ParameterValue
from workbench.domain.probe_findings import Finding, ProbeVerdict
from workbench.domain.prompt import Prompt, TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run
from workbench.runner.connections import Connections

MOST_TOKENS = 12
"""How many tokens a request generates at most, for each choice."""

PROSE = "The best thing about living by the sea is"
"""The prompt of most questions."""

_NOTHING: Mapping[str, ParameterValue] = MappingProxyType({})
_NO_EXTRA: JsonObject = MappingProxyType({})


@dataclass(slots=True)
class ProbeRequests:
    """Sends the requests, and keeps what later questions compare with."""

    connections: Connections
    endpoint: Endpoint
    model: str
    on_request: Callable[[int, str], None]
    sent: int = 0
    findings: list[Finding] = field(default_factory=list)
    wire: WireLog = field(default_factory=WireLog)

    async def ask(
        self,
        words: str,
        values: Mapping[str, ParameterValue] = _NOTHING,
        *,
        prompt: Prompt | str = PROSE,
        extra: JsonObject = _NO_EXTRA,
    ) -> Run:
        """One request; `words` tell a person what it is for."""
        self.sent += 1
        self.on_request(self.sent, words)
        parameters = Parameters({"max_tokens": MOST_TOKENS, "temperature": 0, **values}, extra)
        text = TextPrompt(prompt) if isinstance(prompt, str) else prompt
        run = Run(Request(text, self.model, parameters), self.endpoint.name)
        await self.connections.send(self.endpoint, run, wire=self.wire)
        return run

    def find(self, name: str, verdict: ProbeVerdict, evidence: str) -> None:
        """Keep a finding."""
        self.findings.append(Finding(name, verdict, one_line(evidence, 200)))

    def judge(self, name: str, run: Run, honoured: bool, yes: str, no: str) -> None:
        """Keep what an answer shows, unless there is none."""
        if failed := failure_of(run):
            self.find(name, *failed)
        elif honoured:
            self.find(name, ProbeVerdict.HONOURED, yes)
        else:
            self.find(name, ProbeVerdict.NO_EFFECT, no)


def failure_of(run: Run) -> tuple[ProbeVerdict, str] | None:
    """The finding where there is no answer to look at."""
    if run.error is None:
        return None if run.choices else (ProbeVerdict.UNKNOWN, "no choice returned")
    words = f"{run.error.status or ''} {run.error.message or run.error.title}".strip()
    status = run.error.status
    refused = status is not None and (400 <= status < 500 or status == 501) and status not in (401, 408, 429)
    # A server that drops the connection over a field has refused it, in its way, but it may be chance.
    return (ProbeVerdict.REFUSED if refused else ProbeVerdict.UNKNOWN), words


def first_choice(run: Run) -> Choice:
    """The first choice; an empty one where none came."""
    return run.ordered[0] if run.choices else Choice(0)


def most_alternatives(choice: Choice) -> int:
    """The most alternatives that a token has."""
    return max((len(token.alternatives) for token in choice), default=0)


def first_logprobs(run: Run) -> dict[str, float]:
    """The logprobs of the first token's alternatives, by their texts; none where there is no token."""
    tokens = islice(first_choice(run), 1)
    listed = (one for token in tokens for one in token.alternatives)
    return {one.text: one.logprob for one in listed if one.logprob is not None}


def text_of(run: Run) -> str:
    """The first choice's text."""
    return first_choice(run).text


def quoted(text: str) -> str:
    """A text as evidence shows it."""
    return f"“{one_line(text, 40)}”"
