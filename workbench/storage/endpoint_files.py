"""Endpoint profiles as TOML: one file a profile, named after it, and never a key in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, urlsplit

from workbench.domain.endpoint import CommandKey, Endpoint, EnvironmentKey, KeySource, Prices, Timeouts
from workbench.domain.parameters import PARAMETERS, Range
from workbench.storage.tables import Table

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_NAME = re.compile(r"(api[-_]?key|apikey|secret|password|token|bearer)$", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"(bearer\s|basic\s|sk[-_])", re.IGNORECASE)
_KEY_HINT = (
    'Name the place where the key is found instead: under [key], environment = "NAME" '
    'or command = ["pass", "show", "name"].'
)


def is_endpoint_name(name: str) -> bool:
    """Whether a profile may have this name, which is also its file's."""
    return _NAME.fullmatch(name) is not None


def is_variable(name: str) -> bool:
    """Whether this can be an environment variable's name (a key pasted in its place is not)."""
    return _VARIABLE.fullmatch(name) is not None and _SECRET_VALUE.match(name) is None


def url_problem(url: str) -> str | None:
    """What is wrong with a base URL, in words that do not repeat it; None where nothing is."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or any(character.isspace() or ord(character) < 0x20 for character in url):
        return "must be an address such as https://host/v1"
    if parts.username or parts.password:
        return "must not hold a user name or password"
    if any(_SECRET_NAME.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        return "must not hold a key"
    return None


def read_endpoint(name: str, table: Table, find: Callable[[str], Endpoint | None]) -> Endpoint | None:
    """The endpoint that a profile describes; None where something is wrong, which the table then lists.

    `find` gives the profile that `like` names: its habits are taken over, its address and key are not.
    """
    base = Endpoint(name, "")
    if like := table.text("like"):
        found = find(like)
        if found is None:
            table.complain("like", "names no profile of the program's own")
        base = found or base
    _refuse_secrets(table)
    endpoint = Endpoint(
        name=name,
        base_url=_url(table, "base_url", required=True),
        key=_key(table),
        key_header=_key_header(table),
        limits=_limits(table, base.limits),
        aliases=_aliases(table, base.aliases),
        drop=_drop(table, base.drop),
        headers=_headers(table, base.headers),
        prices=_prices(table),
        timeouts=_timeouts(table, base.timeouts),
        proxy=_url(table, "proxy"),
        concurrency=table.integer("concurrency", base.concurrency, 1),
        requests_per_minute=table.integer("requests_per_minute", 0, 1) or None,
        retries=table.integer("retries", base.retries, 0),
        raw_logprobs=base.raw_logprobs if (raw := table.optional_switch("raw_logprobs")) is None else raw,
        samplers=table.texts("samplers") or base.samplers,
        title=table.text("title", base.title),
        model=table.text("model", base.model),
        ca_file=table.text("ca_file", base.ca_file),
        client_certificate=table.text("client_certificate", base.client_certificate),
        client_key=table.text("client_key", base.client_key),
        note=table.text("note", base.note),
        lenient=table.switch("lenient", base.lenient),
        trust_environment=table.switch("trust_environment", base.trust_environment),
        verify=table.switch("verify", base.verify),
        tokenizer=table.switch("tokenizer", base.tokenizer),
        context=table.integer("context", 0, 1) or base.context,
        single_prompt=table.switch("single_prompt", base.single_prompt),
        single_choice=table.switch("single_choice", base.single_choice),
        sends_ids=table.switch("sends_ids", base.sends_ids),
    )
    table.close()
    return None if table.problems else endpoint


def _refuse_secrets(table: Table) -> None:
    for name in table.names:
        if _SECRET_NAME.search(name):
            table.text(name)
            table.complain(name, "holds a key itself, which files never do", _KEY_HINT)


def _url(table: Table, name: str, *, required: bool = False) -> str:
    url = table.text(name).strip()
    if not url:
        if required:
            table.complain(name, "is missing", 'Such as base_url = "https://host/v1".')
        return ""
    if why := url_problem(url):
        table.complain(name, why)
    return url


def _key(table: Table) -> KeySource | None:
    if isinstance(table.json("key"), str):
        table.complain("key", "holds a key itself, which files never do", _KEY_HINT)
        return None
    inner = table.table("key")
    if inner is None:
        return None
    _refuse_secrets(inner)
    variable = inner.text("environment")
    written = inner.json("command")
    inner.text("header")
    command = _command(inner, written)
    inner.close()
    if variable and command:
        inner.complain("command", "stands beside environment; one place is enough")
    if variable and not is_variable(variable):
        inner.complain("environment", "must be an environment variable's name, never a key", _KEY_HINT)
    if command:
        return CommandKey(command)
    if not variable and written is None:
        inner.complain("", "names no place where the key is found", _KEY_HINT)
    return EnvironmentKey(variable) if variable else None


def _command(table: Table, written: object) -> tuple[str, ...]:
    if not isinstance(written, str):
        return table.texts("command")
    try:
        return tuple(shlex.split(written))
    except ValueError:
        table.complain("command", "has a quote that is not closed")
        return ()


def _key_header(table: Table) -> str:
    inner = table.json("key")
    header = inner.get("header") if isinstance(inner, Mapping) else None
    if not isinstance(header, str):
        return "Authorization"
    if not _HEADER_NAME.fullmatch(header):
        table.complain("key", "has a header that is no header's name")
    return header


def _known_field(table: Table, name: str) -> bool:
    known = [one.name for one in PARAMETERS]
    if name in known:
        return True
    table.complain(name, "is no parameter", f"Known: {', '.join(known)}.")
    return False


def _limits(table: Table, default: Mapping[str, Range]) -> Mapping[str, Range]:
    inner = table.table("limits")
    if inner is None:
        return default
    limits = dict(default)
    contract = {one.name: one.range for one in PARAMETERS}
    for name in inner.names:
        pair = inner.range(name)
        if _known_field(inner, name) and pair is not None:
            usual = contract[name]
            is_open = usual is not None and usual.low_open and usual.low == pair[0]
            limits[name] = Range(*pair, low_open=is_open)
    return limits


def _aliases(table: Table, default: Mapping[str, str]) -> Mapping[str, str]:
    inner = table.table("aliases")
    if inner is None:
        return default
    return {
        **default,
        **{name: word for name in inner.names if (word := inner.text(name)) and _known_field(inner, name)},
    }


def _drop(table: Table, default: frozenset[str]) -> frozenset[str]:
    if "drop" not in table:
        table.texts("drop")
        return default
    names = frozenset(table.texts("drop"))
    unknown = names - {one.name for one in PARAMETERS}
    if unknown:
        known = ", ".join(one.name for one in PARAMETERS)
        table.complain("drop", f"names no parameter: {', '.join(sorted(unknown))}", f"Known: {known}.")
    return names


def _headers(table: Table, default: Mapping[str, str]) -> Mapping[str, str]:
    inner = table.table("headers")
    if inner is None:
        return default
    headers = dict(default)
    for name in inner.names:
        value = inner.text(name)
        if not _HEADER_NAME.fullmatch(name) or not value.isascii() or not value.isprintable():
            inner.complain(name, "is no header of printable ASCII characters")
        elif _SECRET_HEADER.search(name) or _SECRET_VALUE.match(value):
            inner.complain(
                name,
                "would hold a key, which files never do",
                f'{_KEY_HINT} Its header is [key] header = "…".',
            )
        headers[name] = value
    return headers


def _prices(table: Table) -> Prices | None:
    inner = table.table("prices")
    if inner is None:
        return None
    prices = Prices(
        inner.number("prompt", 0, 0), inner.number("completion", 0, 0), inner.text("currency", "USD")
    )
    inner.close()
    return prices


def _timeouts(table: Table, default: Timeouts) -> Timeouts:
    inner = table.table("timeouts")
    if inner is None:
        return default
    timeouts = Timeouts(
        inner.number("connect", default.connect, 0.1),
        inner.number("read", default.read, 0.1),
        inner.number("write", default.write, 0.1),
    )
    inner.close()
    return timeouts
