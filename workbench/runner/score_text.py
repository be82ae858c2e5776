"""Scoring a text: the logprob of each of its tokens, from an endpoint that echoes its prompt."""

from __future__ import annotations

from math import isnan

from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.prompt import Prompt, TextPrompt, TokensPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome, Run
from workbench.domain.scoring import Passage, align_scorings
from workbench.runner.branching import branch_from, end_of
from workbench.runner.connections import Connections
from workbench.runner.echo import ECHO, NEEDS_ECHO, NO_PROMPT_LOGPROBS


def scoring_request(prompt: Prompt, model: str = "", top: int = 5) -> Request:
    """A request whose prompt comes back with its logprobs, and the `top` likeliest tokens at each place.

    One token is generated beside it, as many endpoints generate no fewer.
    """
    parameters = {"temperature": 0.0, "max_tokens": 1, "logprobs": top, "stream": False}
    return Request(prompt, model, Parameters(parameters, ECHO))


def scored(run: Run, origin: int = 0) -> Passage:
    """The prompt's tokens of a scoring run that has ended; places count from character `origin` on.

    Raises EndpointError where it failed, or where the prompt has no logprobs.
    """
    if run.error is not None:
        raise run.error.as_error()
    for choice in run.ordered:
        if choice.echoed and not all(isnan(logprob) for logprob in choice.logprobs[1 : choice.echoed]):
            return Passage.prompt_of(choice, origin)
        if choice.echoed == 1:
            raise EndpointError("A text of one token has no logprob", "No token precedes it.")
    raise EndpointError(NO_PROMPT_LOGPROBS, hint=NEEDS_ECHO)


async def score_answer(
    connections: Connections,
    endpoint: Endpoint,
    run: Run,
    choice: Choice,
    *,
    model: str = "",
    batch: str = "",
) -> tuple[Passage, Passage]:
    """A recorded answer, and its tokens as an endpoint scores them.

    The answer follows its prompt as token ids where all are known, else as text. Raises EndpointError, or
    BadValueError where an answer to token ids has tokens whose ids are unknown.
    """
    origin = end_of(run, choice)
    prompt = branch_from(origin).prompt
    now = Run(scoring_request(prompt, model, max(choice.listed_top, 1)), endpoint.name)
    await connections.send(endpoint, now, batch=batch)
    scoring = scored(now, len(origin.prompt.text) if isinstance(origin.prompt, TextPrompt) else 0)
    if isinstance(prompt, TokensPrompt):
        # Its prompt has ids alone: the answer begins after as many tokens.
        first = len(prompt.ids) - (len(choice) - choice.echoed)
        scoring = scoring._replace(origin=scoring.choice.start_of(first))
    return Passage.answer_of(choice), scoring


def aligned_runs(run: Run, first: Passage, second: Passage) -> tuple[Run, Run]:
    """A run's answer scored by two models, as runs whose tokens are the spans that both have.

    Each span has the surprisal of its tokens together, and the alternatives of a span that is one token.
    """
    spans = list(align_scorings(first, second))
    found = []
    for passage, side in ((first, 0), (second, 1)):
        aligned = Choice(first.choice.index, passage.choice.top_logprobs)
        for span in spans:
            tokens = (span.first, span.second)[side]
            surprisal = span.surprisals[side]
            alternatives = passage.choice.alternatives_of(tokens.start) if len(tokens) == 1 else ()
            text = first.text[span.start : span.end]
            aligned.append(ReceivedToken(text, None if surprisal is None else -surprisal, alternatives), 0.0)
        aligned.finish_reason = first.choice.finish_reason
        found.append(
            Run(run.request, run.endpoint, choices={aligned.index: aligned}, outcome=Outcome.COMPLETE)
        )
    return found[0], found[1]
