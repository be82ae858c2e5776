"""Scoring a text: the logprob of each of its tokens, from an endpoint that echoes its prompt."""

from __future__ import annotations

from math import isnan

from workbench.domain.errors import EndpointError
from workbench.domain.prompt import Prompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run
from workbench.domain.scoring import Passage
from workbench.runner.echo import NEEDS_ECHO, NO_PROMPT_LOGPROBS


def scoring_request(prompt: Prompt, model: str = "", top: int = 5) -> Request:
    """A request whose prompt comes back with its logprobs, and the `top` likeliest tokens at each place.

    One token is generated beside it, as many endpoints generate no fewer.
    """
    parameters = {"temperature": 0.0, "max_tokens": 1, "logprobs": top, "stream": False}
    return Request(prompt, model, Parameters(parameters, {"echo": True}))


def scored(run: Run, origin: int = 0) -> Passage:
    """The prompt's tokens of a scoring run that has ended; places count from character `origin` on.

    Raises EndpointError where it failed, or where the prompt has no logprobs.
    """
    if (failure := run.error) is not None:
        raise EndpointError(
            failure.title,
            failure.message,
            failure.hint,
            status=failure.status,
            request_id=failure.request_id,
        )
    for choice in run.ordered:
        if choice.echoed and not all(isnan(one) for one in choice.logprobs[1 : choice.echoed]):
            return Passage.prompt_of(choice, origin)
        if choice.echoed == 1:
            raise EndpointError("A text of one token has no logprob", "Nothing stands before it.")
    raise EndpointError(NO_PROMPT_LOGPROBS, hint=NEEDS_ECHO)
