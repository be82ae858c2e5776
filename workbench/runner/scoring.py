"""Scoring a text: the logprob of each of its tokens, from an endpoint that echoes its prompt."""

from __future__ import annotations

from math import isnan

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.prompt import TextPrompt, TokensPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Parent, Run
from workbench.domain.scoring import Passage

_HINT = (
    "Scoring needs an endpoint that answers echo: true together with logprobs, "
    "as `local`, `workbench serve` and vLLM do."
)
_REFUSED = (400, 404, 422, 501)


def scoring_run(
    prompt: TextPrompt | TokensPrompt,
    endpoint: Endpoint,
    model: str = "",
    *,
    top: int = 5,
    parent: Parent | None = None,
) -> Run:
    """A run whose prompt comes back with its logprobs, and the `top` likeliest tokens at each place.

    One token is generated beside it, as many endpoints generate no fewer.
    """
    parameters = Parameters(
        {"temperature": 0.0, "max_tokens": 1, "logprobs": top, "stream": False}, {"echo": True}
    )
    return Run(Request(prompt, model, parameters), endpoint.name, parent=parent)


def scored(run: Run, origin: int = 0) -> Passage:
    """The prompt's tokens of a scoring run that has ended; places count from character `origin` on.

    Raises EndpointError where it failed, or where the prompt has no logprobs.
    """
    if (failure := run.error) is not None:
        is_refused = failure.status in _REFUSED and "echo" in f"{failure.title} {failure.message}".lower()
        hint = _HINT if is_refused else failure.hint
        raise EndpointError(
            failure.title, failure.message, hint, status=failure.status, request_id=failure.request_id
        )
    name = one_line(run.endpoint, 40)
    for choice in run.ordered:
        if choice.echoed and not all(isnan(one) for one in choice.logprobs[1 : choice.echoed]):
            return Passage.prompt_of(choice, origin)
        if choice.echoed == 1:
            raise EndpointError("A text of one token has no logprob", "Nothing stands before it.")
    raise EndpointError(f"{name} returned no logprobs of the prompt", hint=_HINT)
