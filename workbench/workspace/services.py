"""What a workspace needs from below, put together by whoever starts it."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import StorageError
from workbench.storage.config import Config, load_config
from workbench.storage.endpoint_list import EndpointList, builtin_endpoint, endpoint_for, load_endpoints
from workbench.storage.files import Folders

if TYPE_CHECKING:
    from workbench.runner.connections import Connections
    from workbench.workspace.activity import Exchange


class Services(Struct, dict=True):
    """Folders, configuration, endpoints and what sends requests to them."""

    folders: Folders
    environment: MutableMapping[str, str]
    config: Config
    endpoint: Endpoint
    """Where the first draft is sent."""
    model: str = ""
    """The model to ask for; empty is the endpoint's own."""
    is_endpoint_typed: bool = False
    """Whether the endpoint was named at the start, and so beats the one of the session that is opened."""
    problems: tuple[StorageError, ...] = ()
    """What was wrong with the person's configuration, to be shown once."""
    exchange: Exchange | None = None
    """The last request that was sent, with its answer's bytes; None before the first."""
    _opened: Connections | None = None

    @staticmethod
    def open(
        environment: MutableMapping[str, str],
        endpoint: str = "",
        api_key_env: str | None = None,
        model: str = "",
    ) -> Services:
        """Read the person's files; `endpoint` is a name or a base URL, empty the configured one.

        Raises BadValueError where there is no such endpoint.
        """
        folders = Folders.default(environment)
        config = load_config(folders)
        name = endpoint or config.config.endpoint or LOCAL
        alone = builtin_endpoint(folders, name) if api_key_env is None else None
        return Services(
            folders=folders,
            environment=environment,
            config=config.config,
            endpoint=alone or endpoint_for(name, api_key_env, load_endpoints(folders)),
            model=model,
            is_endpoint_typed=bool(endpoint),
            problems=config.problems,
        )

    @cached_property
    def endpoints(self) -> EndpointList:
        """Every endpoint; the profiles are read when they are first asked for."""
        return load_endpoints(self.folders)

    @property
    def connections(self) -> Connections:
        """What sends requests to endpoints; made when it is first asked for, as its imports are slow."""
        if self._opened is None:
            from workbench.runner.connections import Connections

            self._opened = Connections(self.environment)
        return self._opened

    def can_ask(self, endpoint: Endpoint) -> bool:
        """Whether an endpoint can be asked without starting the local server for it."""
        return endpoint.name != LOCAL or (self._opened is not None and self._opened.is_ready(endpoint))

    async def aclose(self) -> None:
        """Close all connections, and end the local server."""
        if self._opened is not None:
            await self._opened.aclose()

    def reload_endpoints(self) -> None:
        """Read the person's endpoints again, after they changed."""
        self.endpoints = load_endpoints(self.folders)
