"""The lower-layer services of a workspace, assembled at the start."""

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
    from workbench.storage.presets import PresetList
    from workbench.workspace.activity import Exchange


class Services(Struct, dict=True):
    """Folders, configuration, endpoints and the connections to them."""

    folders: Folders
    environment: MutableMapping[str, str]
    config: Config
    endpoint: Endpoint
    """Endpoint of the first draft."""
    model: str = ""
    """Model of the first draft; empty for the endpoint's default."""
    is_endpoint_typed: bool = False
    """Whether the endpoint was given on the command line, and so overrides that of an opened session."""
    problems: tuple[StorageError, ...] = ()
    """Errors in the configuration, to be shown once."""
    exchange: Exchange | None = None
    """The last request sent, with the raw traffic; None before the first."""
    _opened: Connections | None = None

    @staticmethod
    def open(
        environment: MutableMapping[str, str],
        endpoint: str = "",
        api_key_env: str | None = None,
        model: str = "",
    ) -> Services:
        """Read the configuration; `endpoint` is a name or base URL, empty for the configured endpoint.

        Raises BadValueError if there is no such endpoint.
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
        """All endpoints; the profiles are read on first access."""
        return load_endpoints(self.folders)

    def presets(self) -> PresetList:
        """Every preset, read now; the first paint needs none."""
        from workbench.storage.presets import load_presets

        return load_presets(self.folders)

    @property
    def connections(self) -> Connections:
        """The connections to endpoints, created on first access because the imports are slow."""
        if self._opened is None:
            from workbench.runner.connections import Connections

            self._opened = Connections(self.environment)
        return self._opened

    def can_ask(self, endpoint: Endpoint) -> bool:
        """Whether an endpoint can be queried without starting the local server."""
        return endpoint.name != LOCAL or (self._opened is not None and self._opened.is_ready(endpoint))

    async def aclose(self) -> None:
        """Close all connections and stop the local server."""
        if self._opened is not None:
            await self._opened.aclose()

    def reload_endpoints(self) -> None:
        """Read the endpoints again after a change."""
        self.endpoints = load_endpoints(self.folders)
