"""Refusing a request: the one exception that becomes an HTTP error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from workbench.domain.json_values import JsonValue

_TYPES: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "INVALID_REQUEST_BODY"),
    401: ("authentication_error", "FAILED_TO_AUTH"),
    403: ("permission_error", "ACCESS_DENY"),
    404: ("not_found_error", "NOT_FOUND"),
    405: ("invalid_request_error", "METHOD_NOT_ALLOWED"),
    413: ("invalid_request_error", "REQUEST_TOO_LARGE"),
    415: ("invalid_request_error", "UNSUPPORTED_MEDIA_TYPE"),
    429: ("rate_limit_error", "RATE_LIMIT_EXCEEDED"),
    500: ("server_error", "INTERNAL_ERROR"),
    503: ("unavailable_error", "SERVICE_NOT_AVAILABLE"),
}
_MOST_WORDS = 500


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is answered with an error."""

    status: int
    message: str
    """What is wrong, naming the field."""
    param: str | None = None
    """The field at fault."""
    code: str | None = None
    """The documented name of the error; None takes the status' own."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status}: {self.message}"

    def body(self) -> dict[str, JsonValue]:
        """The JSON body of the answer."""
        kind, code = _TYPES.get(self.status, ("invalid_request_error", "INVALID_REQUEST"))
        return {
            "error": {
                "message": self.message[:_MOST_WORDS] or HTTPStatus(self.status).phrase,
                "type": kind,
                "param": self.param,
                "code": self.code or code,
            }
        }


def bad_request(param: str | None, message: str) -> Refusal:
    """The refusal of one field of a body, or of the body itself."""
    return Refusal(400, message, param)
