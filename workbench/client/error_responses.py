"""Convert error responses of every shape to EndpointError: title, the provider's message, and a hint."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from workbench.client.exact_dialect import Json, Pairs, parse
from workbench.client.retries import retry_after
from workbench.client.urls import Urls
from workbench.domain.display import one_line, show_seconds
from workbench.domain.errors import EndpointError
from workbench.domain.json_values import JsonValue
from workbench.domain.url_display import show_url

Redact = Callable[[str], str]

_TITLES = {
    400: ("The endpoint refused the request", "Check the parameters; unset those it may not know."),
    401: ("The API key was refused", "Check the key that the endpoint's profile names."),
    402: ("The balance is used up", "Top up at the provider."),
    403: (
        "Access was denied",
        "Check the key's permissions, the balance, and whether you have access to the model.",
    ),
    404: ("The endpoint does not know this address or model", "Check the base URL and the model's name."),
    405: ("This URL does not accept this HTTP method", "Check the base URL: it may lead to another service."),
    408: ("The endpoint timed out", "Send it again."),
    409: ("The endpoint is busy with a conflicting request", "Send it again in a moment."),
    411: ("The endpoint requires a Content-Length header", "A proxy in between may have removed it."),
    413: ("The request is too large", "Shorten the prompt."),
    415: ("This URL does not accept JSON", "Check the base URL: it may lead to another service."),
    422: ("The endpoint refused a field of the request", "Unset or change the field it names."),
    424: ("The model failed while generating", "Send it again."),
    429: ("Too many requests", "Wait a moment; the provider limits requests or tokens per minute."),
    498: ("The endpoint is overloaded", "Send it again in a moment."),
    499: ("The connection was closed before the answer", "Send it again."),
    500: ("The endpoint failed", "Send it again; if it fails again, a parameter may be the cause."),
    501: ("The endpoint cannot do this", "Unset the parameter it names."),
    502: ("A proxy got no answer from the endpoint", "Send it again in a moment."),
    503: ("The endpoint is not ready", "It may still be loading the model, or be overloaded; wait a moment."),
    504: ("A proxy waited too long for the endpoint", "Send it again, with fewer max_tokens or streamed."),
}
_CODES = {
    "NOT_ENOUGH_BALANCE": (
        "Balance or rate limit",
        "Top up, or wait a moment and send fewer requests: "
        "this provider reports an exceeded rate limit in the same words.",
    ),
    "INVALID_API_KEY": ("There is no valid API key", "Set the key that the endpoint's profile names."),
    "FAILED_TO_AUTH": ("The API key was refused", "Check the key that the endpoint's profile names."),
    "ACCESS_DENY": (
        "Access was denied",
        "Check the key's permissions and whether you have access to the model.",
    ),
    "MODEL_NOT_FOUND": ("There is no such model", "Pick one of the models that the endpoint lists."),
    "model_not_found": ("There is no such model", "Pick one of the models that the endpoint lists."),
    "TOKEN_LIMIT_EXCEEDED": ("Too many tokens per minute", "Wait a moment, or ask for fewer tokens."),
    "insufficient_quota": ("The quota is used up", "Top up or raise the limit at the provider."),
    "content_filter": ("A content filter refused the request", "Change the prompt."),
}
_LIMIT_PATTERNS = (
    r"max_tokens (?P<most>\d+) and (?P<prompt>\d+) tokens of prompt exceed the context of (?P<limit>\d+)",
    r"prompt is longer than the context of (?P<limit>\d+) tokens",
    r"request \((?P<requested>\d+) tokens\) exceeds the available context size \((?P<limit>\d+)",
    r"maximum context length is (?P<limit>\d+).{0,80}?"
    r"(?:requested|resulted in|has|contains) (?:about )?(?P<requested>\d+)",
    r"Requested tokens \((?P<requested>\d+)\) exceed context window of (?P<limit>\d+)",
    r"inputs.{0,40}max_new_tokens.{0,20}must be <= (?P<limit>\d+).{0,80}?(?P<requested>\d+) `?inputs",
)
_REQUEST_IDS = ("x-request-id", "x-trace-id", "trace_id", "x-generation-id", "request-id", "cf-ray")
_ADDRESS = re.compile(
    r"(?:your ip(?: address)?\s*:?\s*)?\b(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4})\b",
    re.I,
)
_HIDDEN = re.compile(r"<(script|style|svg)\b.*?(?:</\1>|$)|<!--.*?(?:-->|$)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>?")


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The parts of an HTTP response that describe an error."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """With lower-case names."""
    body: bytes


def error_of(answer: ErrorResponse, urls: Urls, tried: str, redact: Redact) -> EndpointError:
    """Return the error of a response with a status other than 2xx; `tried` is the request's URL."""
    if 300 <= answer.status < 400:
        target = one_line(show_url(redact(answer.headers.get("location", ""))), 200)
        return EndpointError(
            f"The endpoint sends requests elsewhere (HTTP {answer.status})",
            f"{show_url(tried)} → {target or 'no address given'}",
            "Redirects are not followed, so that the key stays where it belongs: correct the base URL.",
            status=answer.status,
        )
    reported = _from_body(answer.body)
    message = reported.message or _plain_text(answer.body) or answer.reason
    error = _compose(answer.status, reported, message, redact)
    request_id = next((answer.headers[name] for name in _REQUEST_IDS if answer.headers.get(name)), "")
    error.request_id = one_line(redact(request_id), 100) or error.request_id
    error.retry_after = retry_after(answer.headers)
    if error.retry_after is not None:
        error.hint = f"Wait {show_seconds(error.retry_after)}, as the endpoint asks. {error.hint}"
    if answer.status == 404:
        error.hint = (
            f"Tried {show_url(tried)}. Check the model's name and the base URL, "
            f"which may also be {urls.other_base}."
        )
    return error


def error_within(value: Json | JsonValue, redact: Redact) -> EndpointError:
    """Return the error described by an object or a string within an answer."""
    reported = _read(value)
    status = reported.status if reported.status and 400 <= reported.status < 600 else None
    error = _compose(status, reported, reported.message, redact)
    if status is None and reported.code not in _CODES:
        error.title, error.hint = "The endpoint failed while answering", "The text received so far is kept."
    return error


def no_completion(body: bytes, redact: Redact) -> EndpointError:
    """Return the error of a response that is not a completion."""
    return EndpointError(
        "The response is not a completion",
        one_line(redact(_plain_text(body))),
        "Check the base URL: it may lead to a web page or another service.",
    )


def stray_error(body: bytes, redact: Redact) -> EndpointError:
    """Return the error of lines in a stream that are not events."""
    return EndpointError(
        "The endpoint failed while answering",
        one_line(redact(_plain_text(body))),
        "The text received so far is kept.",
    )


@dataclass(frozen=True, slots=True)
class _Reported:
    message: str = ""
    code: str = ""
    status: int | None = None
    request_id: str = ""
    requested: int | None = None
    limit: int | None = None


def _from_body(body: bytes) -> _Reported:
    try:
        value = parse(body.strip())
    except ValueError:
        return _Reported()
    return _read(value) if isinstance(value, (Pairs, str)) else _Reported()


def _read(value: Json | JsonValue) -> _Reported:
    """Extract message, code and other fields from an error of any known shape."""
    if isinstance(value, str):
        return _Reported(value)
    if isinstance(value, list):
        return _Reported("; ".join(filter(None, map(_complaint, value))))
    if not isinstance(value, Mapping):
        return _Reported()
    inner = value.get("error")
    if isinstance(inner, Mapping):
        reported = _read(inner)
        return replace(reported, request_id=reported.request_id or _first(value, "request_id", "trace_id"))
    names = (_first(value, name) for name in ("reason", "code", "type", "error_type"))
    code = next((name for name in names if name and not name.isdigit()), "")
    message = _first(value, "message", "error_msg", "msg") or (inner if isinstance(inner, str) else "")
    detail = value.get("detail")
    if not message and detail is not None:
        within = _read(detail)
        message, code = within.message, code or within.code
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and (raw := _first(metadata, "raw")):
        # A router passes on the upstream error, often as a JSON string.
        message = f"{message}: {_from_body(raw.encode('utf-8', 'replace')).message or raw}"
    return _Reported(
        message or code,
        code,
        _number(value.get("code")) or _number(value.get("status")),
        _first(value, "request_id", "trace_id"),
        _number(value.get("n_prompt_tokens")),
        _number(value.get("n_ctx")),
    )


def _complaint(value: Json | JsonValue) -> str:
    """Format an entry of FastAPI's error list: `logprobs: Input should be …`."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return ""
    location = value.get("loc")
    parts = [str(part) for part in location if part != "body"] if isinstance(location, list) else []
    message = _first(value, "msg", "message")
    return f"{'.'.join(parts)}: {message}" if parts else message


def _compose(status: int | None, reported: _Reported, message: str, redact: Redact) -> EndpointError:
    title, hint = _CODES.get(reported.code) or _TITLES.get(status or 0) or _by_range(status)
    if overflow := _overflow(reported):
        title, hint = overflow
    elif status == 403 and reported.code not in _CODES and "balance" in message.lower():
        title, hint = _CODES["NOT_ENOUGH_BALANCE"]
    return EndpointError(
        f"{title} (HTTP {status})" if status else title,
        one_line(redact(message)),
        hint,
        status=status,
        request_id=one_line(redact(reported.request_id), 100),
        code=one_line(redact(reported.code), 80),
    )


def _by_range(status: int | None) -> tuple[str, str]:
    if status is not None and 520 <= status <= 530:
        return "A proxy got no answer from the endpoint", "Send it again in a moment."
    if status is not None and status >= 500:
        return "The endpoint failed", "Send it again in a moment."
    return "The endpoint refused the request", "Check the base URL and the parameters."


def _overflow(reported: _Reported) -> tuple[str, str] | None:
    """Return title and hint for an exceeded context, with the numbers of the error; None for other errors."""
    if reported.requested is not None and reported.limit is not None:
        found = {"requested": str(reported.requested), "limit": str(reported.limit)}
    else:
        # Compiled on demand, as the patterns are slow to compile.
        message = reported.message[:2000]
        matches = (re.search(pattern, message, re.IGNORECASE | re.DOTALL) for pattern in _LIMIT_PATTERNS)
        found = next((match.groupdict() for match in matches if match), {})
    if not found:
        return None
    limit = int(found["limit"])
    if "requested" in found:
        title = f"The request does not fit the context: {int(found['requested']):,} tokens of {limit:,}"
        return title, "Shorten the prompt or ask for fewer max_tokens."
    if "prompt" not in found:
        return f"The prompt is longer than the context of {limit:,} tokens", "Shorten the prompt."
    prompt, most = int(found["prompt"]), int(found["most"])
    title = f"The prompt of {prompt:,} tokens and max_tokens {most:,} exceed the context of {limit:,}"
    if prompt >= limit:
        return title, "Shorten the prompt."
    return title, f"Shorten the prompt, or set max_tokens to {limit - prompt:,} at most."


def _plain_text(body: bytes) -> str:
    """Return a body as text; HTML pages lose their tags and IP addresses."""
    text = body[:100_000].decode("utf-8", "replace")
    if "<" not in text or not re.search(
        r"<(?:!doctype|html|head|body|title|h1|center)\b", text, re.IGNORECASE
    ):
        return text
    text = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", text)))
    return " ".join(_ADDRESS.sub(" ", text).split())


def _first(table: Mapping[str, Json] | Mapping[str, JsonValue], *names: str) -> str:
    for name in names:
        value = table.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def _number(value: Json | JsonValue) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12
        else None
    )
