"""Who may use the local server: whoever has the key, or programs and pages of this machine."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.local.http_server import Request
from workbench.local.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must bear, and which web pages may make it."""

    key: str | None = None
    """What every request but `/health` must bear; None asks for no key."""
    origins: frozenset[str] = frozenset()
    """The origins of web pages that may read answers."""

    def check_host(self, request: Request) -> None:
        """Raises Refusal (403) where no key is asked for and the request is meant for another machine.

        A stranger's page may give its own name this machine's address, and would then read the answers.
        """
        if self.key is None and not is_loopback(_without_port(request.host)):
            raise Refusal(403, "forbidden")

    def check_key(self, request: Request) -> None:
        """Raises Refusal (401) where a key is asked for and the request does not bear it."""
        given = request.headers.get("authorization", "")
        scheme, _, key = given.partition(" ")
        if self.key is None or (scheme.lower() == "bearer" and _are_equal(key.strip(), self.key)):
            return
        message = "the API key is wrong" if given else "an API key is needed"
        raise Refusal(401, message, headers={"WWW-Authenticate": "Bearer"})

    def headers(self, request: Request) -> Mapping[str, str]:
        """The headers that let a page of an allowed origin read the answer."""
        origin = request.headers.get("origin")
        if origin not in self.origins:
            return {"Vary": "Origin"} if self.origins else {}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": "Retry-After",
        }

    def is_preflight(self, request: Request) -> bool:
        """Whether a browser asks if a page of an allowed origin may send a request."""
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
"""What is answered to a browser that asks."""


def is_loopback(host: str) -> bool:
    """Whether a host's name or address leads to this machine and nowhere else."""
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
