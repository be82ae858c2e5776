"""The exception that is sent to the client as an HTTP error."""

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
_LONGEST_MESSAGE = 500


@dataclass(eq=False)
class Refusal(Exception):
    """The error response to a request."""

    status: int
    message: str
    """The problem, with the field's name."""
    param: str | None = None
    """The invalid field."""
    code: str | None = None
    """The API's error code; None for the default of the status."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status}: {self.message}"

    def body(self) -> dict[str, JsonValue]:
        """Return the JSON body of the response."""
        kind, code = _TYPES.get(self.status, ("invalid_request_error", "INVALID_REQUEST"))
        return {
            "error": {
                "message": self.message[:_LONGEST_MESSAGE] or HTTPStatus(self.status).phrase,
                "type": kind,
                "param": self.param,
                "code": self.code or code,
            }
        }


def bad_request(param: str | None, message: str) -> Refusal:
    """Return the refusal (400) of a field, or of the body if `param` is None."""
    return Refusal(400, message, param)
