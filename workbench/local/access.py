"""Access to the local server: the API key, the hosts it answers as, and the web pages that may use it."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.local.http_server import HttpRequest
from workbench.local.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests are allowed."""

    key: str | None = None
    """The API key of every request but `/health`; None requires none."""
    origins: frozenset[str] = frozenset()
    """Origins of the web pages that may read responses."""

    def check_host(self, request: HttpRequest) -> None:
        """Check the host that a request was addressed to, if no key is required.

        A web page can point its own domain at a loopback address and would then read the responses (DNS
        rebinding).

        Raises Refusal (403) for a host other than loopback.
        """
        if self.key is None and not is_loopback(_without_port(request.host)):
            raise Refusal(403, "forbidden")

    def check_key(self, request: HttpRequest) -> None:
        """Check the request's API key, if one is required. Raises Refusal (401)."""
        given = request.headers.get("authorization", "")
        scheme, _, key = given.partition(" ")
        if self.key is None or (scheme.lower() == "bearer" and _are_equal(key.strip(), self.key)):
            return
        message = "the API key is wrong" if given else "an API key is needed"
        raise Refusal(401, message, headers={"WWW-Authenticate": "Bearer"})

    def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the CORS headers of the response to a request."""
        origin = request.headers.get("origin")
        if origin not in self.origins:
            return {"Vary": "Origin"} if self.origins else {}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": "Retry-After",
        }

    def is_preflight(self, request: HttpRequest) -> bool:
        """Whether the request is the CORS preflight of a page from an allowed origin."""
        return (
            request.method == "OPTIONS"
            and "access-control-request-method" in request.headers
            and request.headers.get("origin") in self.origins
        )


PREFLIGHT_HEADERS: Mapping[str, str] = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}
"""The headers of the response to a preflight."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _are_equal(given: str, key: str) -> bool:
    return secrets.compare_digest(given.encode("latin-1", "replace"), key.encode())
