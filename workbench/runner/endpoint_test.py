"""Test an endpoint: fetch its list of models, then request a single token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError, WorkbenchError
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Failure, Run
from workbench.runner.connections import Connections
from workbench.runner.run_status import Phase, Status

ANNOUNCEMENT = "asks for its models, then sends “Hi” for one token"
"""Describes a test's requests, shown before they are sent."""

_PATIENCE = 30.0
"""Maximum read timeout of a test, in seconds; a profile may set a shorter one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a test."""

    models: tuple[str, ...] = ()
    no_models: str = ""
    """Why no models are listed, in one line; empty if there are any."""
    model: str = ""
    """The model named in the request; empty for none."""
    run: Run | None = None
    """The run of one token; None if it was never sent."""
    error: Failure | None = None
    """The error of the request; None if it succeeded."""

    @property
    def is_good(self) -> bool:
        """Whether the endpoint answered the completion request."""
        return self.error is None

    @property
    def lines(self) -> tuple[str, ...]:
        """The result as lines that are safe to show on a terminal."""
        count = len(self.models)
        listed = self.no_models or ("1 model listed" if count == 1 else f"{count} models listed")
        if (error := self.error) is not None:
            parts = (f"✗ {error.title}", error.message, error.hint and f"→ {error.hint}")
            return (*(one_line(part) for part in parts if part), listed)
        assert self.run is not None
        text = one_line("".join(choice.text for choice in self.run.ordered), 40)
        by = one_line(self.run.model or self.model, 80)
        notes = tuple(one_line(note) for note in self.run.notes)
        answered = f"✓ answered “{text}” in {self.run.total or 0.0:.2f} s" + (f", by {by}" if by else "")
        return (answered, *notes, listed)


async def check(
    connections: Connections,
    endpoint: Endpoint,
    model: str = "",
    *,
    on_step: Callable[[str], None] = lambda step: None,
) -> Checked:
    """Test an endpoint as described by `ANNOUNCEMENT`; `on_step` receives each step before it is taken.

    The request names `model`, else the profile's model, else the first one listed. Nothing is retried. Errors
    are returned in the result, never raised.
    """
    try:
        read = min(endpoint.timeouts.read, _PATIENCE)
        endpoint = endpoint._replace(retries=0, timeouts=endpoint.timeouts._replace(read=read))
        on_step("asking for its models")
        models, no_models = await _models(connections, endpoint)
    except WorkbenchError as problem:
        return Checked(error=Failure.of(problem))
    model = model or endpoint.model or (models[0] if models else "")
    asking = f"asking {one_line(model, 60)} for one token" if model else "asking for one token"

    def show(status: Status) -> None:
        if status.phase in (Phase.STARTING, Phase.SENDING):
            on_step(status.detail or asking)

    run = Run(Request(TextPrompt("Hi"), model, Parameters({"max_tokens": 1})), endpoint.name)
    await connections.send(endpoint, run, on_status=show)
    return Checked(models, no_models, model, run, run.error)


async def _models(connections: Connections, endpoint: Endpoint) -> tuple[tuple[str, ...], str]:
    """Return the models listed, or why there are none: some servers complete but list no models."""
    try:
        models = tuple(await connections.models(endpoint))
    except EndpointError as error:
        return (), f"no list of models: {one_line(error.title, 100)}"
    return models, "" if models else "no models listed"
