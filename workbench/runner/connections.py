"""Connections: the one owner of all that lies between the workbench and an endpoint.

It owns the local server, which it starts when something is first sent to `local` and again when it has
died; the client with its connections and the keys that commands printed, kept for the session; and one rate
limiter for each address and key. Every completion request takes its turn in that limiter, in
`Connections.send`, whatever asked for it: a single run, a branch, a column of a comparison, a cell of a
sweep, a part of a split run, a chat answer, a probe. Model lists, tokenising and `/props` pass beside it.
Nothing else makes a client, a limiter or a local server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace

from workbench.client.byte_encoding import read_name
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
from workbench.runner.status import Phase, Status


class Connections:
    """Opens endpoints; made once, closed once."""

    def __init__(self, environment: MutableMapping[str, str], model: str = "") -> None:
        """`environment` is where keys are found; it receives the local server's random key.

        `model` names the GGUF file that `local` loads; empty is the embedded one.
        """
        self._local = LocalServer(environment, model)
        self._client = Client(environment)
        self._limiters: dict[tuple[str, KeySource | None], Limiter] = {}
        """By address and key: what endpoints limit, whatever profile leads there."""

    async def send(
        self,
        endpoint: Endpoint,
        run: Run,
        *,
        batch: str = "",
        on_status: Callable[[Status], None] = lambda status: None,
        wire: WireLog | None = None,
    ) -> None:
        """Send a run and fill it with what comes; afterwards it has its outcome, whatever happened.

        `batch` names the batch that the run is part of; without one it goes before all batches. `on_status`
        receives what happens before the first token. Cancelling closes the connection and leaves the outcome
        `stopped`. `wire` records the exchange, the first one of a run that is split.
        """
        try:
            if not self.is_ready(endpoint):
                on_status(Status(Phase.STARTING, "starting the local model"))
            ready = await self._ready(endpoint)
            limiter = self._limiter(endpoint)
            sender = Sender(self._client, limiter, ready, batch=batch, on_status=on_status, wire=wire)
            await sender.send(run)
            await self._name_death(ready, run)
        except asyncio.CancelledError:
            run.outcome = run.outcome or Outcome.STOPPED
            raise
        except WorkbenchError as error:
            run.error = Failure.of(error)
            run.outcome = Outcome.ERROR

    def is_ready(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint can be asked without starting the local server for it."""
        return endpoint.name != LOCAL or self._local.is_running

    async def models(self, endpoint: Endpoint) -> list[str]:
        """The names of the models that an endpoint lists; nothing is started for it.

        Raises EndpointError, or EngineError where the local model is missing.
        """
        if not self.is_ready(endpoint):
            return [await self._local.model_name()]
        return await self._client.models(await self._ready(endpoint))

    async def tokenize(
        self, endpoint: Endpoint, text: str, *, as_prompt: bool = False
    ) -> list[tuple[int, bytes]]:
        """The ids and bytes of a text's tokens; `as_prompt` adds those that surround every prompt.

        Raises EndpointError, also where the endpoint has no tokenizer, or EngineError.
        """
        if not endpoint.tokenizer:
            raise EndpointError(
                f"{one_line(endpoint.name, 40)} has no tokenizer to ask for token ids",
                hint="Send branches as text, or set tokenizer = true where /tokenize answers beside it.",
            )
        found = []
        for id, piece in await self._client.tokenize(
            await self._ready(endpoint), text, add_special=as_prompt
        ):
            name = read_name(piece)
            found.append((id, name.raw if name.raw is not None else piece.encode("utf-8", "replace")))
        return found

    async def detokenize(self, endpoint: Endpoint, ids: Sequence[int]) -> str:
        """The text of token ids, by the endpoint's tokenizer. Raises EndpointError or EngineError."""
        return await self._client.detokenize(await self._ready(endpoint), list(ids))

    async def count_tokens(self, endpoint: Endpoint, text: str) -> int:
        """How many tokens a text has. Raises EndpointError or EngineError."""
        return await self._client.count_tokens(await self._ready(endpoint), text)

    async def context_size(self, endpoint: Endpoint, model: str) -> int | None:
        """The tokens that prompt and answer may take together; None where the endpoint does not say.

        Raises EngineError.
        """
        return await self._client.context_size(await self._ready(endpoint), model)

    async def props(self, endpoint: Endpoint) -> JsonObject:
        """What llama.cpp's `/props` says of the model. Raises EndpointError or EngineError."""
        return await self._client.props(await self._ready(endpoint))

    async def aclose(self) -> None:
        """Close all connections and end the local server, also while it starts."""
        await self._client.aclose()
        await self._local.aclose()

    def _limiter(self, endpoint: Endpoint) -> Limiter:
        """The one limiter of where an endpoint leads. Raises EndpointError where its address is none."""
        address = LOCAL if endpoint.name == LOCAL else normalise(endpoint.base_url).completions
        return self._limiters.setdefault((address, endpoint.key), Limiter())

    async def _ready(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint as it answers: `local` with address, key and model of its server, which is started."""
        if endpoint.name != LOCAL:
            if not endpoint.base_url:
                raise Failure.of(unknown_endpoint(endpoint.name)).as_error()
            return endpoint
        server = await self._local.ensure()
        key, model = EnvironmentKey(KEY_VARIABLE), endpoint.model or server.model
        return replace(endpoint, base_url=server.url, key=key, model=model)

    async def _name_death(self, endpoint: Endpoint, run: Run) -> None:
        """Say of a failed run that the engine died under it, where it did."""
        if endpoint.name != LOCAL or run.outcome not in (Outcome.ERROR, Outcome.TRUNCATED):
            return
        if (death := await self._local.death(endpoint.base_url)) is not None:
            run.error, run.outcome = Failure.of(death), Outcome.ERROR
