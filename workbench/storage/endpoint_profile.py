"""The structure of an endpoint profile, shared by files, the form, the command line and the JSON schema."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from sys import float_info
from typing import Annotated, Any, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct

from workbench.domain.display import without_invisible
from workbench.domain.endpoint import (
    PROXY_SCHEMES,
    CommandKey,
    Endpoint,
    EnvironmentKey,
    Prices,
    Timeouts,
)
from workbench.domain.parameter_table import PARAMETERS, Range
from workbench.domain.url_display import split_url
from workbench.storage.toml_editing import changed
from workbench.storage.toml_files import Fault, about, table_of, typed, unknown_key

KEY_HINT = (
    "Files never hold keys. Put it where only you can read it, and name that place under [key]: an "
    'environment variable (export MY_KEY=…, then environment = "MY_KEY"), or a command that prints it '
    '(command = "pass show my-key").'
)
NAME_HINT = "Letters, digits, dots, dashes and underscores, beginning with a letter or digit."

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_HEADER_NAME = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_SECRET_NAME = r"(?i)(api[-_]?key|apikey|secret|password|token|bearer)$"
_SECRET_HEADER = r"(?i)auth|key|token|secret|cookie|password"
_SECRET_VALUE = r"(?i)(bearer\s|basic\s|sk[-_])"
_NOT_LIKE = ("base_url", "key", "proxy", "prices", "requests_per_minute")
"""Keys that a profile does not take over from its `like` profile."""

_PARAMETERS = {parameter.name: parameter for parameter in PARAMETERS}
_Seconds: TypeAlias = Annotated[float, Meta(ge=0.1, le=86_400)]
_Count: TypeAlias = Annotated[int, Meta(ge=1)]
_Price: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]
_TWO_NUMBERS = "two numbers, [lowest, highest]"
_Limit: TypeAlias = Annotated[list[int | float], Meta(title=_TWO_NUMBERS, min_length=2, max_length=2)]
_BY_PARAMETER = {"propertyNames": {"enum": list(_PARAMETERS)}}


class KeyTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The source of the API key; never the key itself."""

    environment: Annotated[str, about("NAME of the environment variable with the key; never a key.")] = ""
    command: Annotated[str | list[str], about("Or a command that prints it: pass show jiekou")] = ""
    header: Annotated[str, about("Any header but Authorization sends the key alone, without “Bearer”.")] = (
        "Authorization"
    )


class TimeoutsTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Timeouts of a request, in seconds."""

    connect: Annotated[_Seconds, about("Seconds to wait for a connection.")] = 10
    read: Annotated[_Seconds, about("Seconds between two chunks; a long prompt may take minutes.")] = 600
    write: Annotated[_Seconds, about("Seconds that sending may take.")] = 60


class PricesTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Prices per million tokens."""

    prompt: Annotated[_Price | None, about("Price of a million prompt tokens, where known.")] = None
    completion: Annotated[_Price | None, about("Price of a million completion tokens, where known.")] = None
    currency: Annotated[str, about("Currency of the prices.")] = "USD"


class EndpointFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A profile; its name is the name of its file."""

    base_url: Annotated[str, about("With or without /v1 at its end.", examples=["https://host/v1"])]
    like: Annotated[str, about("Built-in profile whose settings are used where this one has none.")] = ""
    model: Annotated[str, about("The model to ask for where the draft names none.")] = ""
    title: Annotated[str, about("Name shown in lists.")] = ""
    note: Annotated[str, about("Notes about it.")] = ""
    key: KeyTable = KeyTable()
    aliases: Annotated[
        dict[str, str],
        about("The endpoint's own names: top_k = topk; n = count", extra_json_schema=_BY_PARAMETER),
    ] = {}
    drop: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"enum": list(_PARAMETERS)})]],
        about("Parameters that are never sent, separated by commas: best_of, top_k"),
    ] = []
    limits: Annotated[
        dict[str, _Limit],
        about("Ranges other than the API's: top_k = 0 … 1000; n = 1 … 8", extra_json_schema=_BY_PARAMETER),
    ] = {}
    lenient: Annotated[bool, about("true: a value out of range is a warning only.")] = False
    headers: Annotated[dict[str, str], about("Sent with each request: HTTP-Referer: https://me; X: y")] = {}
    concurrency: Annotated[int, about("Maximum concurrent requests.", ge=1)] = 4
    requests_per_minute: Annotated[_Count | None, about("Maximum requests per minute, if any.")] = None
    retries: Annotated[int, about("How often a refused request (429, 503) is retried.", ge=0)] = 2
    timeouts: TimeoutsTable = TimeoutsTable()
    proxy: Annotated[str, about("Such as http://127.0.0.1:3128 or socks5://127.0.0.1:1080; empty: none.")] = (
        ""
    )
    trust_environment: Annotated[bool, about("true: use the proxies of HTTP_PROXY and the like.")] = False
    ca_file: Annotated[str, about("CA certificate file, for a server with an authority of its own.")] = ""
    client_certificate: Annotated[str, about("Client certificate file, if the server asks for one.")] = ""
    client_key: Annotated[str, about("File with the certificate's private key, if separate.")] = ""
    verify: Annotated[bool, about("false: accept any certificate (insecure).")] = True
    prices: PricesTable = PricesTable()
    single_prompt: Annotated[bool, about("true: several prompts in a request are refused.")] = False
    single_choice: Annotated[bool, about("true: n is ignored or refused.")] = False
    sends_ids: Annotated[bool, about("false: prompts of token ids are refused.")] = True
    tokenizer: Annotated[bool, about("true: the server answers /tokenize, as llama.cpp's does.")] = False
    context: Annotated[_Count | None, about("Tokens of prompt and answer together; empty asks.")] = None
    raw_logprobs: Annotated[bool | None, about("true: before sampling; false: after; empty: unknown.")] = None
    samplers: Annotated[list[str], about("Order of the samplers, separated by commas, where known.")] = []


def is_endpoint_name(name: str) -> bool:
    """Whether a name is valid for a profile and its file."""
    return re.fullmatch(_NAME, name) is not None


def is_variable(name: str) -> bool:
    """Whether a text can be the name of an environment variable and does not look like a key."""
    return re.fullmatch(_VARIABLE, name) is not None and re.match(_SECRET_VALUE, name) is None


def url_problem(
    url: str, schemes: Sequence[str] = ("http", "https"), example: str = "https://host/v1"
) -> str | None:
    """Return the problem with a URL, without repeating the URL; None if it is valid."""
    parts = split_url(url)
    if (
        parts is None
        or parts.scheme not in schemes
        or any(character.isspace() or ord(character) < 0x20 for character in url)
    ):
        return f"must be an address such as {example}"
    if parts.username or parts.password:
        return "must not hold a user name or password"
    if any(re.search(_SECRET_NAME, name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        return "must not hold a key"
    return None


def read_profile(
    name: str, table: Mapping[str, Any], shipped: Mapping[str, Endpoint]
) -> tuple[Endpoint | None, list[Fault]]:
    """Return the endpoint described by a profile's table, or None if there are faults, and the faults.

    Settings of the built-in profile named by `like` are taken over, except those in `_NOT_LIKE`.
    """
    faults = list(_keys_in(table))
    for fault in faults:
        table = changed(table, fault.key, None)
    base = shipped.get(str(table.get("like")))
    merged = {} if base is None else profile_table(base)
    for key in _NOT_LIKE:
        merged.pop(key, None)
    for key, value in table.items():
        usual = merged.get(key)
        merged[key] = {**usual, **value} if isinstance(usual, dict) and isinstance(value, dict) else value
    file, found = typed(merged, EndpointFile)
    faults += found
    if file is not None:
        faults += _faults(file)
        if file.like and base is None:
            faults.append(
                Fault(("like",), "does not name a built-in profile", f"Known: {', '.join(shipped)}.")
            )
        if not faults and "key" in table and file.key == KeyTable():
            faults.append(Fault(("key",), "does not say where the key is found", KEY_HINT))
    return (None if faults or file is None else _endpoint(name, file)), faults


def _keys_in(table: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each entry that holds a key itself."""
    inner = table.get("key")
    keys: list[tuple[str, ...]] = [(name,) for name in table if re.search(_SECRET_NAME, name)]
    if isinstance(inner, str):
        keys.append(("key",))
    elif isinstance(inner, dict):
        keys += [("key", name) for name in inner if re.search(_SECRET_NAME, name)]
    for key in keys:
        yield Fault(key, "holds a key itself, which files never do", KEY_HINT)


def _faults(file: EndpointFile) -> Iterator[Fault]:
    """Yield the faults of values that have the right type."""
    if why := url_problem(without_invisible(file.base_url)):
        yield Fault(("base_url",), why)
    if (proxy := without_invisible(file.proxy)) and (
        why := url_problem(proxy, PROXY_SCHEMES, "http://host:3128 or socks5://host:1080")
    ):
        yield Fault(("proxy",), why)
    yield from _key_faults(file.key)
    for key in (
        *(("aliases", alias) for alias in file.aliases),
        *(("limits", limit) for limit in file.limits),
    ):
        if key[-1] not in _PARAMETERS:
            yield unknown_key(key, _PARAMETERS)
    for name, (low, high) in file.limits.items():
        if not -float_info.max <= low <= high <= float_info.max:
            yield Fault(("limits", name), f"must be {_TWO_NUMBERS}")
    if unknown := sorted(set(file.drop) - set(_PARAMETERS)):
        yield Fault(
            ("drop",), f"names unknown parameters: {', '.join(unknown)}", f"Known: {', '.join(_PARAMETERS)}."
        )
    for name, value in file.headers.items():
        if not re.fullmatch(_HEADER_NAME, name) or not value.isascii() or not value.isprintable():
            yield Fault(("headers", name), "is not a header of printable ASCII characters")
        elif re.search(_SECRET_HEADER, name) or re.match(_SECRET_VALUE, value):
            hint = f'{KEY_HINT} Its header is [key] header = "…".'
            yield Fault(("headers", name), "would hold a key, which files never do", hint)


def _key_faults(key: KeyTable) -> Iterator[Fault]:
    if key.environment and not is_variable(key.environment):
        yield Fault(("key", "environment"), "must be an environment variable's name, never a key", KEY_HINT)
    if key.environment and key.command:
        yield Fault(("key", "command"), "cannot be combined with environment")
    try:
        _argv(key.command)
    except ValueError:
        yield Fault(("key", "command"), "has an unclosed quote")
    if not re.fullmatch(_HEADER_NAME, key.header):
        yield Fault(("key", "header"), "is not the name of a header")


def _argv(command: str | list[str]) -> tuple[str, ...]:
    return tuple(shlex.split(command) if isinstance(command, str) else command)


def _endpoint(name: str, file: EndpointFile) -> Endpoint:
    values = msgspec.structs.asdict(file)
    del values["like"]
    key, prices = values.pop("key"), values.pop("prices")
    command = _argv(key.command)
    unpriced = prices.prompt is None and prices.completion is None
    values |= {
        "base_url": without_invisible(file.base_url),
        "proxy": without_invisible(file.proxy),
        "key": CommandKey(command)
        if command
        else EnvironmentKey(key.environment)
        if key.environment
        else None,
        "key_header": key.header,
        "limits": {name: _range(name, low, high) for name, (low, high) in file.limits.items()},
        "drop": frozenset(file.drop),
        "samplers": tuple(file.samplers),
        "prices": None if unpriced else Prices(prices.prompt or 0, prices.completion or 0, prices.currency),
        "timeouts": Timeouts(**msgspec.structs.asdict(file.timeouts)),
    }
    return Endpoint(name, **values)


def _range(name: str, low: float, high: float) -> Range:
    usual = _PARAMETERS[name].range
    return Range(low, high, low_open=usual is not None and usual.low_open and usual.low == low)


def profile_of(endpoint: Endpoint) -> EndpointFile:
    """Return the profile of an endpoint, the inverse of `read_profile`."""
    values: dict[str, Any] = {
        name: value for name, value in endpoint._asdict().items() if name in EndpointFile.__struct_fields__
    }
    key, prices, timeouts = endpoint.key, endpoint.prices, endpoint.timeouts
    values |= {
        "key": KeyTable(
            key.variable if isinstance(key, EnvironmentKey) else "",
            shlex.join(key.argv) if isinstance(key, CommandKey) else "",
            endpoint.key_header,
        ),
        "limits": {name: [limit.low, limit.high] for name, limit in endpoint.limits.items()},
        "drop": sorted(endpoint.drop),
        "samplers": list(endpoint.samplers),
        "prices": PricesTable(prices.prompt, prices.completion, prices.currency) if prices else PricesTable(),
        "timeouts": TimeoutsTable(timeouts.connect, timeouts.read, timeouts.write),
    }
    return EndpointFile(**values)


def profile_table(endpoint: Endpoint) -> dict[str, Any]:
    """Return the table of an endpoint's profile: all values that differ from the defaults."""
    return table_of(profile_of(endpoint))
