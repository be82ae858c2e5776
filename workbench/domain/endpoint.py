"""Endpoints: named servers, with their limits and quirks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from workbench.domain.errors import BadValueError
from workbench.domain.parameter_table import Range

PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
"""The allowed schemes of a proxy URL."""
LOCAL = "local"
"""Name of the embedded model's endpoint."""
SERVE_PORT = 8080
"""Default port of `workbench serve`."""


class EnvironmentKey(NamedTuple):
    """An API key in an environment variable."""

    variable: str


class CommandKey(NamedTuple):
    """An API key printed by a command, such as a password manager's."""

    argv: tuple[str, ...]


KeySource: TypeAlias = EnvironmentKey | CommandKey
"""The source of an API key; never the key itself."""


class Timeouts(NamedTuple):
    """Timeouts of a request, in seconds."""

    connect: float = 10
    read: float = 600
    """Between two chunks of a response; long, because nothing is sent while the prompt is evaluated."""
    write: float = 60


class Prices(NamedTuple):
    """Prices per million tokens."""

    prompt: float
    completion: float
    currency: str = "USD"


class Endpoint(NamedTuple):
    """A server that answers `POST /v1/completions`."""

    name: str
    base_url: str
    """Empty if only the name is known: the session's profile does not exist on this machine."""
    title: str = ""
    model: str = ""
    """The model to request if the draft names none."""
    key: KeySource | None = None
    key_header: str = "Authorization"
    """`Authorization` sends `Bearer <key>`; any other header sends the key alone."""
    limits: Mapping[str, Range] = MappingProxyType({})
    """Ranges by field name that replace those of the API contract."""
    lenient: bool = False
    """Whether values out of range only cause a warning."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """The endpoint's field names, by API field name."""
    drop: frozenset[str] = frozenset()
    """Fields that are never sent."""
    headers: Mapping[str, str] = MappingProxyType({})
    prices: Prices | None = None
    timeouts: Timeouts = Timeouts()
    proxy: str = ""
    trust_environment: bool = False
    """Whether to use proxies from environment variables."""
    ca_file: str = ""
    client_certificate: str = ""
    client_key: str = ""
    verify: bool = True
    concurrency: int = 4
    """Maximum concurrent requests."""
    requests_per_minute: int | None = None
    retries: int = 2
    raw_logprobs: bool | None = None
    """Whether logprobs are raw model probabilities, before sampling; None if unknown."""
    samplers: tuple[str, ...] = ()
    """The order in which samplers are applied, if known."""
    tokenizer: bool = False
    """Whether it has the `/tokenize` and `/detokenize` endpoints of llama.cpp."""
    context: int | None = None
    """Context window in tokens; None means to query the endpoint, if it reports it."""
    single_prompt: bool = False
    """Whether several prompts in one request are refused."""
    single_choice: bool = False
    """Whether `n` is ignored or refused."""
    sends_ids: bool = True
    """Whether prompts may be token ids."""
    note: str = ""

    @property
    def address(self) -> str:
        """The base URL to show; empty for `local`, whose server uses a different port after each start."""
        return "" if self.name == LOCAL else self.base_url


def unknown_endpoint(name: str) -> BadValueError:
    """Return the error for a session whose endpoint profile does not exist on this machine."""
    return BadValueError(
        f"There is no endpoint profile named {name!r}",
        "The session names it, and only its answers can be read.",
        f"Choose another endpoint, or add a profile named {name}.",
        field="endpoint",
    )
