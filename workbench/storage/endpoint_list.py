"""Find endpoints: built-in profiles, user profiles and bare URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from workbench.domain.display import one_line, without_invisible
from workbench.domain.endpoint import LOCAL, Endpoint, EnvironmentKey
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.url_display import show_url
from workbench.storage.endpoint_profile import (
    NAME_HINT,
    is_endpoint_name,
    is_variable,
    read_profile,
    url_problem,
)
from workbench.storage.files import Folders, delete_file, is_missing, read_text, toml_paths, write_atomically
from workbench.storage.toml_files import read_toml

_SHIPPED = Path(__file__).parent / "shipped" / "endpoints"
_FIRST = (LOCAL, "jiekou", "openai")
_HOST_AND_PORT = r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}(/\S*)?"


class EndpointList(Struct, frozen=True):
    """All endpoints by name: the local one first, then the primary providers, then the others by name."""

    endpoints: Mapping[str, Endpoint]
    problems: list[StorageError]
    """All problems in user profiles. An invalid profile is omitted, and not replaced by the built-in one of
    the same name, which would send prompts to a different server than intended."""
    own: frozenset[str] = frozenset()
    """Names of the user profiles."""
    broken: Mapping[str, StorageError] = {}
    """The first problem of each omitted profile, by name."""
    shipped: Mapping[str, Endpoint] = {}
    """All built-in profiles, including those replaced by user profiles."""


def endpoints_folder(folders: Folders) -> Path:
    """Return the folder of user profiles."""
    return folders.config / "endpoints"


def load_endpoints(folders: Folders) -> EndpointList:
    """Load all profiles; a user profile replaces the built-in one of the same name."""
    shipped, _ = _read_files(toml_paths(_SHIPPED)[0], {})
    files, unread = toml_paths(endpoints_folder(folders))
    own, problems = _read_files(files, shipped)
    found = {name: endpoint for name, endpoint in shipped.items() if name == LOCAL or name not in problems}
    return EndpointList(
        MappingProxyType(_ordered({**found, **own})),
        unread + [problem for of_profile in problems.values() for problem in of_profile],
        frozenset(own),
        {name: of_profile[0] for name, of_profile in problems.items()},
        MappingProxyType(_ordered(shipped)),
    )


def builtin_endpoint(folders: Folders, name: str) -> Endpoint | None:
    """Load a single built-in profile; None if it does not exist or a user profile replaces it."""
    path = _SHIPPED / f"{name}.toml"
    own = endpoints_folder(folders) / path.name
    if not is_endpoint_name(name) or not path.exists() or not is_missing(own):
        return None
    return read_profile(name, read_toml(path).table, {})[0]


def _read_files(
    files: Iterable[Path], shipped: Mapping[str, Endpoint]
) -> tuple[dict[str, Endpoint], dict[str, list[StorageError]]]:
    """Return the endpoints of the valid profiles, and the problems of the others, by name."""
    endpoints: dict[str, Endpoint] = {}
    problems: dict[str, list[StorageError]] = {}
    for path in files:
        name = path.stem
        try:
            if not is_endpoint_name(name):
                title = f"{path.name}: not a name for an endpoint"
                raise StorageError(title, "", f"Rename the file. {NAME_HINT}", path=str(path))
            file = read_toml(path)
        except StorageError as problem:
            problems[name] = [problem]
            continue
        endpoint, faults = read_profile(name, file.table, shipped)
        if endpoint is None:
            problems[name] = [*map(file.error, faults)]
        else:
            endpoints[name] = endpoint
    return endpoints, problems


def _ordered(endpoints: Mapping[str, Endpoint]) -> dict[str, Endpoint]:
    names = sorted(
        endpoints,
        key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name.lower()),
    )
    return {name: endpoints[name] for name in names}


def endpoint_for(name_or_url: str, api_key_env: str | None, loaded: EndpointList) -> Endpoint:
    """Return the profile with a name, or an endpoint for a bare URL, which has a key only with `api_key_env`.

    `api_key_env` replaces a profile's key source. A bare URL uses the ranges of the API contract.

    Raises BadValueError if the profile does not exist or is invalid, or the URL is invalid.
    """
    key = _named_key(api_key_env)
    name = without_invisible(name_or_url)
    if not name:
        hint = "The name is empty: a variable may not be set. Give a profile's name or a base URL."
        raise _bad("no endpoint is named", hint)
    if name in loaded.endpoints:
        endpoint = loaded.endpoints[name]
        return endpoint if key is None else endpoint._replace(key=key)
    if name in loaded.broken:
        problem = loaded.broken[name]
        raise BadValueError(problem.title, problem.message, problem.hint, field="endpoint")
    url = f"http://{name}" if re.fullmatch(_HOST_AND_PORT, name) else name
    if "://" not in url:
        hint = f"Known: {', '.join(loaded.endpoints)}; or give a base URL (https://host/v1)."
        raise _bad(f"there is no profile named {show_url(name)!r}", hint)
    if why := url_problem(url):
        raise _bad(f"the address {why}", "Keys are named by --api-key-env NAME or by a profile.")
    return Endpoint(name=url, base_url=url, key=key)


def _bad(why: str, hint: str) -> BadValueError:
    return BadValueError(f"endpoint: {why}", hint=hint, field="endpoint")


def _named_key(variable: str | None) -> EnvironmentKey | None:
    if variable is None:
        return None
    if not is_variable(variable):
        # The error does not repeat the argument, because it may be the key itself.
        raise BadValueError(
            "api-key-env: not the name of an environment variable",
            hint="Put the key into a variable, and give the variable's name here.",
            field="api_key_env",
        )
    return EnvironmentKey(variable)


def offered(loaded: EndpointList, environment: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return the endpoints whose key variable is set; they are offered, never used by default."""
    return tuple(
        endpoint
        for endpoint in loaded.endpoints.values()
        if isinstance(endpoint.key, EnvironmentKey) and environment.get(endpoint.key.variable, "").strip()
    )


def profile_text(folders: Folders, name: str) -> str:
    """Return the text of a profile's file: the user's, even if invalid, else the built-in one.

    Raises StorageError if it does not exist or cannot be read.
    """
    path = endpoints_folder(folders) / f"{name}.toml"
    return read_text(_SHIPPED / path.name if is_missing(path) else path)


def save_profile_text(folders: Folders, name: str, text: str) -> None:
    """Write the text of a user profile unchanged. Raises StorageError if it cannot be written."""
    write_atomically(endpoints_folder(folders) / f"{name}.toml", text.encode())


def delete_endpoint(folders: Folders, name: str) -> None:
    """Delete a user profile; the built-in one of that name is used again.

    Raises StorageError if it does not exist or cannot be deleted.
    """
    path = endpoints_folder(folders) / f"{name}.toml"
    if not is_endpoint_name(name) or is_missing(path):
        raise StorageError(
            f"You have no endpoint profile named {one_line(name, 40)!r}",
            hint="Only your profiles can be deleted, not the built-in ones.",
        )
    delete_file(path)
