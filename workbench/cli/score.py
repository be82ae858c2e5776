"""`workbench score`: score texts token by token, with one model or in comparison of two."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from workbench.cli.batch import add_batch_options, send_jobs
from workbench.cli.command_workspace import open_services, open_workspace, run_in
from workbench.cli.confirm import is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_failure
from workbench.cli.output import logprob_to_json, print_json, token_to_json
from workbench.cli.parsing import file_name, naming_files
from workbench.cli.request_options import endpoint_name, read_input
from workbench.cli.tables import print_table, top_choice_cell
from workbench.domain.display import figure, one_line, percent, plural, token_text
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import BadValueError, EndpointError
from workbench.domain.figures import (
    bits_per_byte,
    logprob_ceilings,
    mean_logprob,
    perplexity,
    probability,
    unlisted_tokens,
)
from workbench.domain.json_values import JsonValue
from workbench.domain.prompt import TextPrompt
from workbench.domain.run import Run
from workbench.domain.scoring import Passage, SecondScoring, Span, largest_differences
from workbench.runner.many_runs import Job
from workbench.runner.score_text import OneTokenScoring, plan_one_token_scoring, scored, scoring_request
from workbench.storage.endpoint_list import EndpointList, endpoint_for
from workbench.workspace.costs import cost_of_jobs
from workbench.workspace.workspace import Workspace

_CONTEXT = 24
"""Characters of text shown before a token."""


@dataclass(frozen=True, slots=True)
class _Text:
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class _ScoringRun:
    """The run, or the requests, that score a text with one model."""

    endpoint: Endpoint
    run: Run
    plan: OneTokenScoring | None = None
    """None if the endpoint can echo the prompt with logprobs in a single request."""

    def passage(self) -> Passage:
        """Return the scored text. Raises EndpointError if scoring failed."""
        if self.plan is None:
            return scored(self.run)
        return Passage.prompt_of(self.plan.scored(self.run).choices[0])


@dataclass(frozen=True, slots=True)
class _Scoring:
    """A text scored by one model."""

    title: str
    run: Run
    passage: Passage

    @property
    def unlisted(self) -> int:
        """The number of tokens with unknown logprob: not among the alternatives of one-token requests."""
        return unlisted_tokens(self.passage.choice, self.passage.tokens)

    @property
    def figures(self) -> dict[str, float | None]:
        """With `unlisted` tokens, the mean logprob is an upper bound and the others are lower bounds."""
        logprobs = logprob_ceilings(self.passage.choice, self.passage.tokens)
        return {
            "mean_logprob": mean_logprob(logprobs),
            "perplexity": perplexity(logprobs),
            "bits_per_byte": bits_per_byte(self.passage.choice, self.passage.tokens),
        }


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files", type=file_name, nargs="*", metavar="FILE", help="a text to score; - is standard input"
    )
    parser.add_argument("--text", action="append", default=[], help="a text to score; repeatable")
    parser.add_argument(
        "--endpoint",
        type=endpoint_name,
        action="append",
        default=[],
        metavar="NAME|URL",
        help="an endpoint that returns prompt logprobs (default: local); a second one is compared with it",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help="the model to ask for; a second one goes to the second endpoint, or to the same",
    )
    parser.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="send the key that this environment variable holds (for a bare URL)",
    )
    parser.add_argument(
        "--top", type=int, default=5, metavar="N", help="alternatives to list for each token (default: 5)"
    )
    parser.add_argument(
        "--places",
        type=int,
        default=10,
        metavar="N",
        help="how many of the most surprising places, or largest differences, to print (default: 10)",
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="send a request for one token after each token of the text, for an endpoint that returns no "
        "prompt logprobs but answers /tokenize; tokens that are not among the alternatives stay unknown",
    )
    add_batch_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score texts, print tables or JSON and return the exit status."""
    if len(arguments.endpoint) > 2 or len(arguments.model) > 2:
        raise BadValueError("at most two endpoints or models are compared")
    if arguments.top < 0 or arguments.places < 0:
        raise BadValueError("--top and --places must be at least 0")
    if arguments.probe and not arguments.top:
        raise BadValueError("--probe needs --top of at least 1")
    with naming_files():
        texts = [_Text("text", text) for text in arguments.text]
        texts += [_Text(name, read_input(name)) for name in arguments.files]
    services = open_services()
    targets = _targets(arguments, services.endpoints)
    if not texts:
        raise BadValueError("no text given", hint="Name a FILE, - for standard input, or use --text.")
    if empty := [text.name for text in texts if not text.text]:
        raise BadValueError(f"{empty[0]} is empty")
    with open_workspace(services, arguments.session) as workspace:
        sent = run_in(workspace, _send(workspace, texts, targets, arguments))
        if isinstance(sent, ExitStatus):
            return sent
        return _report(list(zip(texts, sent, strict=True)), arguments)


async def _send(
    workspace: Workspace,
    texts: Sequence[_Text],
    targets: Sequence[tuple[Endpoint, str]],
    arguments: argparse.Namespace,
) -> list[list[_ScoringRun]] | ExitStatus:
    """Send the requests; return the runs of each text, or the exit status if not sent or stopped.

    Raises BadValueError, EndpointError or EngineError.
    """
    groups = [[await _run_of(workspace, text, *target, arguments) for target in targets] for text in texts]
    jobs = [Job(sent.endpoint, sent.run) for group in groups for sent in group]
    if not is_agreed(cost_of_jobs(jobs), sure=arguments.yes):
        return ExitStatus.BAD_ARGUMENTS
    return ExitStatus.INTERRUPTED if await send_jobs(workspace, jobs, arguments) else groups


async def _run_of(
    workspace: Workspace, text: _Text, endpoint: Endpoint, model: str, arguments: argparse.Namespace
) -> _ScoringRun:
    prompt = TextPrompt(text.text)
    if not arguments.probe:
        return _ScoringRun(endpoint, Run(scoring_request(prompt, model, arguments.top), endpoint.name))
    plan = await plan_one_token_scoring(workspace.services.connections, endpoint, prompt)
    return _ScoringRun(endpoint, plan.run(endpoint, model, arguments.top), plan)


def _targets(arguments: argparse.Namespace, endpoints: EndpointList) -> list[tuple[Endpoint, str]]:
    """Return the one or two endpoints and models. Raises BadValueError."""
    names = arguments.endpoint or [LOCAL]
    pairs = zip_longest(names, arguments.model, fillvalue="")
    return [
        (endpoint_for(name or names[0], arguments.api_key_env, endpoints), model) for name, model in pairs
    ]


def _report(
    groups: Sequence[tuple[_Text, Sequence[_ScoringRun]]], arguments: argparse.Namespace
) -> ExitStatus:
    """Print the scores, and failures on standard error."""
    status = ExitStatus.OK
    reports: list[JsonValue] = []
    for text, group in groups:
        scorings = []
        for sent in group:
            model = sent.run.model or sent.run.request.model
            try:
                title = f"{model} @ {sent.endpoint.name}" if model else sent.endpoint.name
                scorings.append(_Scoring(title, sent.run, sent.passage()))
            except EndpointError as error:
                print_failure(error)
                status = ExitStatus.FAILED
        passages = [scoring.passage for scoring in scorings]
        second = SecondScoring.of(passages[0], passages[1]) if len(passages) == 2 else None
        if arguments.json:
            reports.append(_to_json(text, scorings, second))
        elif scorings:
            _print(text, scorings, second.spans if second else (), arguments.places)
    if arguments.json:
        print_json(reports)
    return status


def _print(text: _Text, scorings: Sequence[_Scoring], spans: Sequence[Span], places: int) -> None:
    rows = []
    for scoring in scorings:
        found, unlisted = scoring.figures, scoring.unlisted
        most, least = ("≤ ", "≥ ") if unlisted else ("", "")
        rows.append(
            [
                scoring.title,
                str(len(scoring.passage.tokens)) + (f", {unlisted} unknown" if unlisted else ""),
                most + figure(found["mean_logprob"], ".4f"),
                least + figure(found["perplexity"], ".3f"),
                least + figure(found["bits_per_byte"], ".4f"),
            ]
        )
    size = f"{plural(len(text.text), 'character')}, {plural(len(text.text.encode()), 'byte')}"
    heads = ("model", "tokens", "mean logprob", "perplexity", "bits per byte")
    print_table(f"{text.name}: {size}", heads, rows)
    if spans:
        _print_differences(text.text, scorings, spans, places)
    elif places:
        _print_surprises(text.text, scorings[0].passage, places)


def _print_surprises(text: str, passage: Passage, places: int) -> None:
    rows = [
        [
            _before(text, token.start),
            token_text(token.text, token.raw),
            percent(probability(token.logprob) or 0.0),
            f"{-(token.logprob or 0.0):.2f}",
            top_choice_cell(token),
        ]
        for token in passage.most_surprising(places)
    ]
    print_table("most surprising", ("after", "token", "probability", "surprisal", "expected"), rows)


def _print_differences(text: str, scorings: Sequence[_Scoring], spans: Sequence[Span], places: int) -> None:
    rows = [
        [
            _before(text, span.start),
            token_text(text[span.start : span.end]),
            *(figure(surprisal, ".2f") for surprisal in span.surprisals),
            figure(span.difference, "+.2f"),
            *(
                top_choice_cell(scoring.passage.choice.token(tokens.start))
                for scoring, tokens in zip(scorings, (span.first, span.second), strict=True)
            ),
        ]
        for span in largest_differences(spans, places)
    ]
    heads = ("after", "text", "surprisal 1", "surprisal 2", "difference", "1 expected", "2 expected")
    print_table("largest differences in surprisal (nats)", heads, rows)


def _before(text: str, end: int) -> str:
    start = max(end - _CONTEXT, 0)
    return ("…" if start else "") + one_line(text[start:end], _CONTEXT + 1)


def _to_json(text: _Text, scorings: Sequence[_Scoring], second: SecondScoring | None) -> JsonValue:
    return {
        "name": text.name,
        "characters": len(text.text),
        "bytes": len(text.text.encode()),
        "scorings": [
            {
                "endpoint": scoring.run.endpoint,
                "model": scoring.run.model or scoring.run.request.model or None,
                "unlisted_tokens": scoring.unlisted,
                **scoring.figures,
                "tokens": [
                    token_to_json(scoring.passage.choice.token(index)) for index in scoring.passage.tokens
                ],
            }
            for scoring in scorings
        ],
        "spans": [
            {
                "start": span.start,
                "end": span.end,
                "text": text.text[span.start : span.end],
                "surprisals": list(span.surprisals),
                "difference": span.difference,
                "elsewhere": logprob_to_json(other.text, other.logprob, other.raw)
                if (other := span.elsewhere) is not None
                else None,
            }
            for span in (second.spans if second is not None else ())
        ],
    }
