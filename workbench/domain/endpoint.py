"""Endpoints: named places to send requests to, with their limits and quirks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Range

PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
"""How a proxy's address may begin."""
LOCAL = "local"
"""Name of the endpoint that the embedded model answers."""
SERVE_PORT = 8080
"""Where `workbench serve` listens unless it is given a port."""


class EnvironmentKey(NamedTuple):
    """An API key held by an environment variable."""

    variable: str


class CommandKey(NamedTuple):
    """An API key printed by a command, such as a password manager's."""

    argv: tuple[str, ...]


KeySource: TypeAlias = EnvironmentKey | CommandKey
"""Where an API key is found; never the key itself."""


class Timeouts(NamedTuple):
    """Seconds an exchange may take."""

    connect: float = 10
    read: float = 600
    """Between two chunks of an answer; long, as a prompt's evaluation sends nothing."""
    write: float = 60


class Prices(NamedTuple):
    """What a million tokens cost, in the currency named."""

    prompt: float
    completion: float
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place that answers `POST /v1/completions`."""

    name: str
    base_url: str
    """Empty where nothing but the name is known: a session names a profile that is not on this machine."""
    title: str = ""
    model: str = ""
    """The model to ask for where the draft names none."""
    key: KeySource | None = None
    key_header: str = "Authorization"
    """`Authorization` sends `Bearer <key>`; any other header sends the key alone."""
    limits: Mapping[str, Range] = field(default_factory=dict)
    """Ranges by field that replace the contract's."""
    lenient: bool = False
    """Whether a value out of range is a warning only."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The endpoint's own names of fields, by ours."""
    drop: frozenset[str] = frozenset()
    """Fields that are never sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    prices: Prices | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    proxy: str = ""
    trust_environment: bool = False
    """Whether proxies named by the environment are used."""
    ca_file: str = ""
    client_certificate: str = ""
    client_key: str = ""
    verify: bool = True
    concurrency: int = 4
    """Requests under way at once."""
    requests_per_minute: int | None = None
    retries: int = 2
    raw_logprobs: bool | None = None
    """Whether logprobs are the model's own, before sampling; None where unknown."""
    samplers: tuple[str, ...] = ()
    """The order in which samplers are applied, where known."""
    tokenizer: bool = False
    """Whether `/tokenize` and `/detokenize` answer beside it, as llama.cpp's do."""
    context: int | None = None
    """Tokens that prompt and answer may take together; None asks the endpoint, where it reports that."""
    single_prompt: bool = False
    """Whether several prompts in one request are refused."""
    single_choice: bool = False
    """Whether `n` is ignored or refused."""
    sends_ids: bool = True
    """Whether prompts may be token ids."""
    note: str = ""
    """Notes about it."""

    @property
    def address(self) -> str:
        """Where it is, for a person; empty for `local`, whose server takes another port with each start."""
        return "" if self.name == LOCAL else self.base_url


def unknown_endpoint(name: str) -> BadValueError:
    """The error that a session's endpoint profile is not on this machine."""
    return BadValueError(
        f"There is no endpoint profile named {name!r}",
        "The session names it, and only its answers can be read.",
        f"Choose another endpoint, or add a profile named {name}.",
        field="endpoint",
    )
