"""The owner of everything between the workbench and its endpoints.

`Connections` owns the local server, which it starts on the first request to `local` and restarts after a
crash; the client, with its connections and the API keys printed by key commands; and one rate limiter per
address and key. Every completion request passes that limiter, in `Connections.send`: a single run, a branch,
a column of a comparison, a cell of a sweep, a part of a split run, a chat answer, a probe. Model lists,
tokenisation and `/props` bypass it. Nothing else creates a client, a limiter or a local server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping, Sequence

from workbench.client.client import Client
from workbench.client.urls import normalise
from workbench.client.wire_log import WireLog
from workbench.domain.display import one_line
from workbench.domain.endpoint import LOCAL, Endpoint, EnvironmentKey, KeySource, unknown_endpoint
from workbench.domain.errors import EndpointError, WorkbenchError
from workbench.domain.json_values import JsonObject
from workbench.domain.run import Failure, Outcome, Run
from workbench.runner.execution import Sender
from workbench.runner.limiter import Limiter
from workbench.runner.local_server import KEY_VARIABLE, LocalServer
from workbench.runner.run_status import Phase, Status


class Connections:
    """Sends requests to endpoints. Created once per process."""

    def __init__(self, environment: MutableMapping[str, str], model: str = "") -> None:
        """`environment` provides API keys, and receives the local server's random key.

        `model` is the path of the GGUF file that `local` loads; empty for the embedded model.
        """
        self._local = LocalServer(environment, model)
        self._client = Client(environment)
        self._limiters: dict[tuple[str, KeySource | None], Limiter] = {}
        """By address and key, as endpoints limit an account, whichever profile is used."""

    async def send(
        self,
        endpoint: Endpoint,
        run: Run,
        *,
        batch: str = "",
        on_status: Callable[[Status], None] = lambda status: None,
        wire: WireLog | None = None,
    ) -> None:
        """Send a run and store its answer in it as it arrives; sets its outcome in every case.

        `batch` is the id of the run's batch; runs without one go before all batches. `on_status` receives the
        run's status until its first token. Cancelling closes the connection and sets the outcome `stopped`.
        `wire` logs the raw traffic, of a split run that of its first request.
        """
        try:
            if not self.is_ready(endpoint):
                on_status(Status(Phase.STARTING, "starting the local model"))
            ready = await self._ready(endpoint)
            limiter = self._limiter(endpoint)
            sender = Sender(self._client, limiter, ready, batch, on_status, wire)
            await sender.send(run)
            await self._report_exit(ready, run)
        except asyncio.CancelledError:
            run.outcome = run.outcome or Outcome.STOPPED
            raise
        except WorkbenchError as error:
            run.error = Failure.of(error)
            run.outcome = Outcome.ERROR

    def is_ready(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint can be queried without starting the local server."""
        return endpoint.name != LOCAL or self._local.is_running

    async def models(self, endpoint: Endpoint) -> list[str]:
        """Return the names of the endpoint's models, without starting the local server.

        Raises EndpointError, or EngineError if the local model is missing.
        """
        if not self.is_ready(endpoint):
            return [await self._local.model_name()]
        return await self._client.models(await self._ready(endpoint))

    async def tokenize(
        self, endpoint: Endpoint, text: str, as_prompt: bool = False
    ) -> list[tuple[int, bytes]]:
        """Return the ids and bytes of a text's tokens; `as_prompt` adds the special tokens of a prompt.

        Raises EndpointError, also if the endpoint has no tokenizer, or EngineError.
        """
        if not endpoint.tokenizer:
            raise EndpointError(
                f"{one_line(endpoint.name, 40)} has no tokenizer to ask for token ids",
                hint="Send branches as text, or set tokenizer = true where /tokenize answers beside it.",
            )
        return await self._client.tokenize(await self._ready(endpoint), text, add_special=as_prompt)

    async def detokenize(self, endpoint: Endpoint, ids: Sequence[int]) -> str:
        """Return the text of token ids from the endpoint's tokenizer. Raises EndpointError or EngineError."""
        return await self._client.detokenize(await self._ready(endpoint), list(ids))

    async def context_size(self, endpoint: Endpoint, model: str) -> int | None:
        """Return the context size in tokens, for prompt and answer; None if the endpoint does not report it.

        Raises EngineError.
        """
        return await self._client.context_size(await self._ready(endpoint), model)

    async def props(self, endpoint: Endpoint) -> JsonObject:
        """Return the answer of llama.cpp's `/props`. Raises EndpointError or EngineError."""
        return await self._client.props(await self._ready(endpoint))

    async def aclose(self) -> None:
        """Close all connections and stop the local server, even while it is starting."""
        await self._client.aclose()
        await self._local.aclose()

    def _limiter(self, endpoint: Endpoint) -> Limiter:
        """Return the limiter of the endpoint's address and key. Raises EndpointError for an invalid URL."""
        address = LOCAL if endpoint.name == LOCAL else normalise(endpoint.base_url).completions
        return self._limiters.setdefault((address, endpoint.key), Limiter())

    async def _ready(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint; for `local`, start the server and fill in its URL, key and model."""
        if endpoint.name != LOCAL:
            if not endpoint.base_url:
                raise Failure.of(unknown_endpoint(endpoint.name)).as_error()
            return endpoint
        server = await self._local.ensure()
        key, model = EnvironmentKey(KEY_VARIABLE), endpoint.model or server.model
        return endpoint._replace(base_url=server.url, key=key, model=model)

    async def _report_exit(self, endpoint: Endpoint, run: Run) -> None:
        """Set a run's error if it failed because the local server exited."""
        if endpoint.name != LOCAL or run.outcome not in (Outcome.ERROR, Outcome.TRUNCATED):
            return
        if (death := await self._local.death(endpoint.base_url)) is not None:
            run.error, run.outcome = Failure.of(death), Outcome.ERROR
