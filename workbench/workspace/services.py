"""What a workspace needs from below, put together by whoever starts it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from msgspec import Struct

from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import StorageError
from workbench.runner.connections import Connections
from workbench.storage.config import Config, load_config
from workbench.storage.endpoint_list import EndpointList, endpoint_for, load_endpoints
from workbench.storage.folders import Folders

if TYPE_CHECKING:
    from workbench.workspace.activity import Exchange


class Services(Struct):
    """Folders, configuration, endpoints and what sends requests to them."""

    folders: Folders
    environment: MutableMapping[str, str]
    config: Config
    endpoints: EndpointList
    endpoint: Endpoint
    """Where the first draft is sent."""
    connections: Connections
    model: str = ""
    """The model to ask for; empty is the endpoint's own."""
    is_endpoint_typed: bool = False
    """Whether the endpoint was named at the start, and so beats the one of the session that is opened."""
    problems: tuple[StorageError, ...] = ()
    """What was wrong with the person's files, to be shown once."""
    exchange: Exchange | None = None
    """The last request that was sent, with its answer's bytes; None before the first."""

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
        endpoints = load_endpoints(folders)
        return Services(
            folders=folders,
            environment=environment,
            config=config.config,
            endpoints=endpoints,
            endpoint=endpoint_for(endpoint or config.config.endpoint or LOCAL, api_key_env, endpoints),
            connections=Connections(environment),
            model=model,
            is_endpoint_typed=bool(endpoint),
            problems=(*config.problems, *endpoints.problems),
        )

    def reload_endpoints(self) -> None:
        """Read the person's endpoints again, after they changed."""
        self.endpoints = load_endpoints(self.folders)
