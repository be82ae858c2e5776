"""Every field of an endpoint as one line of text, for whoever sets an endpoint up by hand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, nan

from workbench.domain.endpoint import CommandKey, Endpoint, EnvironmentKey, Prices
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Range
from workbench.storage.endpoint_files import is_variable

_ON, _OFF = ("on", "true", "yes"), ("off", "false", "no")
_KEY_BEGINNING = re.compile(
    r"(sk|pk|rk|gsk|hf|xai|nvapi|glpat|ghp|r8|pplx|fw|tgp|csk)[-_]\w{4,}|AIza\w{8,}|bearer\s", re.IGNORECASE
)
_KEY_HINT = (
    "Files never hold keys. Put it where only you can read it, and name that place here: an environment "
    "variable (export MY_KEY=…, then MY_KEY), or a command that prints it (pass show my-key)."
)


@dataclass(frozen=True, slots=True)
class EndpointField:
    """One thing to set of an endpoint."""

    name: str
    """As the file spells it, with its table's name and a dot before it: `key.environment`."""
    label: str
    help: str
    show: Callable[[Endpoint], str]
    """Its value as text; empty where unset."""
    take: Callable[[Endpoint, str], Endpoint]
    """The endpoint with the value that a text means; raises ValueError that says what it must be."""
    group: str = ""
    """The heading it begins, if any."""


def looks_like_key(text: str) -> bool:
    """Whether a text is more likely an API key than the name of a variable that holds one."""
    if _KEY_BEGINNING.match(text):
        return True
    has_digits = any(map(str.isdigit, text))
    if is_variable(text):
        return len(text) >= 20 and has_digits and any(map(str.islower, text))
    return len(text) >= 16 and has_digits and not any(map(str.isspace, text))


def _is_key(word: str) -> bool:
    return len(word) >= 16 and any(map(str.isdigit, word)) and _KEY_BEGINNING.match(word) is not None


def texts_of(endpoint: Endpoint) -> dict[str, str]:
    """An endpoint's fields as text, by name."""
    return {one.name: one.show(endpoint) for one in ENDPOINT_FIELDS}


def with_texts(endpoint: Endpoint, texts: Mapping[str, str]) -> Endpoint:
    """An endpoint with fields set to what texts mean, by name.

    Raises BadValueError, which names the field, for a text that means no value, or an unknown field.
    """
    for name, text in texts.items():
        if name not in _BY_NAME:
            raise BadValueError(
                f"{name} is no field of an endpoint", hint=f"Known: {', '.join(_BY_NAME)}.", field=name
            )
        if text.strip() == _BY_NAME[name].show(endpoint):
            continue
        if not name.startswith("key.") and any(map(_is_key, re.split(r"[\s:;,=]+", text))):
            raise BadValueError(
                f"{_BY_NAME[name].label}: a part of that looks like a key, so it was not taken",
                hint=_KEY_HINT,
                field=name,
            )
        try:
            endpoint = _BY_NAME[name].take(endpoint, text.strip())
        except ValueError as problem:
            raise BadValueError(f"{_BY_NAME[name].label}: {problem}", field=name) from None
    return endpoint


# --- keys ---------------------------------------------------------------------


def _variable(endpoint: Endpoint) -> str:
    return endpoint.key.variable if isinstance(endpoint.key, EnvironmentKey) else ""


def _with_variable(endpoint: Endpoint, text: str) -> Endpoint:
    text = text.removeprefix("$")
    if looks_like_key(text):
        raise BadValueError(
            "That looks like a key itself, so it was not taken", hint=_KEY_HINT, field="key.environment"
        )
    if not text:
        return replace(endpoint, key=None) if isinstance(endpoint.key, EnvironmentKey) else endpoint
    if not is_variable(text):
        raise ValueError("must be an environment variable's name, such as JIEKOU_API_KEY")
    return replace(endpoint, key=EnvironmentKey(text))


def _command(endpoint: Endpoint) -> str:
    return shlex.join(endpoint.key.argv) if isinstance(endpoint.key, CommandKey) else ""


def _with_command(endpoint: Endpoint, text: str) -> Endpoint:
    try:
        argv = tuple(shlex.split(text))
    except ValueError:
        raise ValueError("has a quote that is not closed") from None
    if any(_KEY_BEGINNING.match(word) for word in argv):
        raise BadValueError(
            "That command holds what looks like a key itself, so it was not taken",
            hint=_KEY_HINT,
            field="key.command",
        )
    if not argv:
        return replace(endpoint, key=None) if isinstance(endpoint.key, CommandKey) else endpoint
    if isinstance(endpoint.key, EnvironmentKey):
        raise ValueError("stands beside a variable; one place for the key is enough")
    return replace(endpoint, key=CommandKey(argv))


# --- plain values ---------------------------------------------------------------------


def _whole(text: str, default: int, low: int) -> int:
    if not text:
        return default
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < low:
        raise ValueError(f"must be a whole number, at least {low}")
    return int(text)


def _number(text: str, default: float, low: float) -> float:
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not low <= number < inf:
        raise ValueError(f"must be a number, at least {low:g}")
    return number


def _figure(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(number)


def _switch(text: str) -> bool | None:
    word = text.lower()
    if word and word not in (*_ON, *_OFF):
        raise ValueError("must be on or off")
    return word in _ON if word else None


def _on_off(value: bool | None) -> str:
    return "" if value is None else _ON[0] if value else _OFF[0]


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))


def _pairs(text: str, sign: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, divider, value = part.partition(sign)
        if not divider or not name.strip() or not value.strip():
            raise ValueError(f"must be such as {example}")
        found[name.strip()] = value.strip()
    return found


def _limits(text: str) -> dict[str, Range]:
    limits: dict[str, Range] = {}
    for name, value in _pairs(text, "=", "temperature = 0 … 5; top_k = 0 … 1000").items():
        try:
            low, high = map(float, re.split(r"…|\.\.\.?|,", value))
        except ValueError:
            raise ValueError(f"{name} must have two numbers, such as 0 … 5") from None
        limits[name] = Range(low, high)
    return limits


def _show_limits(endpoint: Endpoint) -> str:
    return "; ".join(
        f"{name} = {_figure(one.low)} … {_figure(one.high)}" for name, one in endpoint.limits.items()
    )


def _keep_open(endpoint: Endpoint, limits: Mapping[str, Range]) -> dict[str, Range]:
    """The limits, each with the open end that it had, which no text shows."""
    was = endpoint.limits
    same = {name for name, one in limits.items() if name in was and was[name].low == one.low}
    return {name: replace(one, low_open=name in same and was[name].low_open) for name, one in limits.items()}


def _prices(endpoint: Endpoint) -> Prices:
    return endpoint.prices or Prices(0, 0)


def _with_prices(endpoint: Endpoint, prices: Prices) -> Endpoint:
    return replace(endpoint, prices=prices if prices.prompt or prices.completion else None)


def _text(name: str, label: str, help: str, group: str = "") -> EndpointField:
    return EndpointField(
        name,
        label,
        help,
        lambda one: str(getattr(one, name)),
        lambda one, text: _set(one, name, text),
        group,
    )


def _flag(name: str, label: str, help: str) -> EndpointField:
    usual: bool | None = getattr(Endpoint("", ""), name)

    def take(one: Endpoint, text: str) -> Endpoint:
        value = _switch(text)
        return _set(one, name, usual if value is None else value)

    return EndpointField(name, label, help, lambda one: _on_off(getattr(one, name)), take)


def _set(endpoint: Endpoint, name: str, value: object) -> Endpoint:
    changes: dict[str, object] = {name: value}
    return replace(endpoint, **changes)  # type: ignore[arg-type]


def _seconds(name: str, label: str, help: str) -> EndpointField:
    usual: float = getattr(Endpoint("", "").timeouts, name)

    def take(one: Endpoint, text: str) -> Endpoint:
        timeouts = replace(one.timeouts, **{name: _number(text, usual, 0.1)})
        return replace(one, timeouts=timeouts)

    return EndpointField(
        f"timeouts.{name}", label, help, lambda one: _figure(getattr(one.timeouts, name)), take
    )


def _price(name: str, label: str, group: str = "") -> EndpointField:
    def show(one: Endpoint) -> str:
        return "" if one.prices is None else _figure(getattr(one.prices, name))

    def take(one: Endpoint, text: str) -> Endpoint:
        prices, number = _prices(one), _number(text, 0, 0)
        changed = replace(prices, prompt=number) if name == "prompt" else replace(prices, completion=number)
        return _with_prices(one, changed)

    help = "What a million of them cost; empty where unknown."
    return EndpointField(f"prices.{name}", label, help, show, take, group)


ENDPOINT_FIELDS: tuple[EndpointField, ...] = (
    _text("name", "name", "Letters, digits, dots, dashes and underscores.", "Where"),
    _text("base_url", "base URL", "Such as https://host/v1, with or without /v1."),
    _text("model", "model", "The model to ask for where the draft names none."),
    _text("title", "title", "How lists call it."),
    _text("note", "note", "What a person should know of it."),
    EndpointField(
        "key.environment",
        "key: variable",
        "The NAME of the environment variable that holds the key; never the key itself.",
        _variable,
        _with_variable,
        "API key",
    ),
    EndpointField(
        "key.command",
        "key: command",
        "Or a command that prints the key, such as: pass show jiekou",
        _command,
        _with_command,
    ),
    _text("key_header", "key: header", "Authorization sends “Bearer KEY”, any other header the key alone."),
    EndpointField(
        "aliases",
        "aliases",
        "The endpoint's own names: repetition_penalty = repeat_penalty; top_k = topk",
        lambda one: "; ".join(f"{name} = {word}" for name, word in one.aliases.items()),
        lambda one, text: replace(
            one, aliases=_pairs(text, "=", "repetition_penalty = repeat_penalty; top_k = topk")
        ),
        "Parameters",
    ),
    EndpointField(
        "drop",
        "never sent",
        "Parameters that are left out, divided by commas: best_of, top_k",
        lambda one: ", ".join(sorted(one.drop)),
        lambda one, text: replace(one, drop=frozenset(_names(text))),
    ),
    EndpointField(
        "limits",
        "ranges",
        "Ranges in place of the contract's: temperature = 0 … 5; logprobs = 0 … 20",
        _show_limits,
        lambda one, text: replace(one, limits=_keep_open(one, _limits(text))),
    ),
    _flag("lenient", "lenient", "on: a value out of range is a warning only."),
    EndpointField(
        "headers",
        "headers",
        "Sent with every request: HTTP-Referer: https://me; X-Title: my app",
        lambda one: "; ".join(f"{name}: {value}" for name, value in one.headers.items()),
        lambda one, text: replace(one, headers=_pairs(text, ":", "HTTP-Referer: https://me; X-Title: app")),
        "Requests",
    ),
    EndpointField(
        "concurrency",
        "concurrency",
        "Requests under way at once.",
        lambda one: str(one.concurrency),
        lambda one, text: replace(one, concurrency=_whole(text, 4, 1)),
    ),
    EndpointField(
        "requests_per_minute",
        "per minute",
        "Requests in a minute at most; empty sets no limit.",
        lambda one: str(one.requests_per_minute or ""),
        lambda one, text: replace(one, requests_per_minute=_whole(text, 0, 1) or None),
    ),
    EndpointField(
        "retries",
        "retries",
        "How often a refused request is sent again (429, 503, no connection).",
        lambda one: str(one.retries),
        lambda one, text: replace(one, retries=_whole(text, 2, 0)),
    ),
    _seconds("connect", "timeout: connect", "Seconds until a connection stands."),
    _seconds("read", "timeout: read", "Seconds between two pieces of an answer; long prompts take minutes."),
    _seconds("write", "timeout: write", "Seconds that sending may take."),
    _text("proxy", "proxy", "Such as http://127.0.0.1:3128 or socks5://…; empty goes directly.", "Network"),
    _flag("trust_environment", "proxy of system", "on: go by HTTP_PROXY and the like."),
    _text("ca_file", "CA file", "A file with the authority's certificate, for a server of your own."),
    _text("client_certificate", "certificate", "A file with your own certificate, where one is asked for."),
    _text("client_key", "its key file", "The file with the certificate's key, if it is another one."),
    _flag("verify", "verify TLS", "off: take any certificate. Only for tests: anyone may listen in then."),
    _price("prompt", "prompt tokens", "Prices"),
    _price("completion", "completion tokens"),
    EndpointField(
        "prices.currency",
        "currency",
        "In which currency.",
        lambda one: _prices(one).currency,
        lambda one, text: _with_prices(one, replace(_prices(one), currency=text or "USD")),
    ),
    replace(
        _flag("single_prompt", "one prompt", "on: several prompts in a request are refused."), group="Habits"
    ),
    _flag("single_choice", "one choice", "on: n is ignored or refused."),
    _flag("sends_ids", "token ids", "off: prompts of token ids are refused."),
    _flag("tokenizer", "tokenizer", "on: /tokenize answers beside it, as llama.cpp's does."),
    EndpointField(
        "context",
        "context",
        "Tokens that prompt and answer may take together; empty asks the endpoint.",
        lambda one: str(one.context or ""),
        lambda one, text: replace(one, context=_whole(text, 0, 1) or None),
    ),
    _flag("raw_logprobs", "raw logprobs", "on: the model's own; off: after sampling; empty: unknown."),
    EndpointField(
        "samplers",
        "samplers",
        "The order in which they are applied, divided by commas; empty where unknown.",
        lambda one: ", ".join(one.samplers),
        lambda one, text: replace(one, samplers=_names(text)),
    ),
)
"""Every field, in the order in which a person sets them."""

_BY_NAME = {one.name: one for one in ENDPOINT_FIELDS}
