"""Base URLs as people paste them, brought to one form."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit, urlunsplit

from workbench.domain.display import without_invisible
from workbench.domain.errors import EndpointError

PORTS = {"http": 80, "https": 443}

_TAIL = re.compile(r"(?:/chat/completions|/completions|/models|/responses)$")
_VERSION = re.compile(r"v\d+\w*|beta")
_DOUBLED = re.compile(r"(/v\d+)(?:\1)+(?=/|$)")


@dataclass(frozen=True, slots=True)
class Urls:
    """Where an endpoint's services are."""

    base: str
    """With the version, without a trailing slash and without a query."""
    query: str = ""

    @property
    def completions(self) -> str:
        """Where completions are created."""
        return self._at(f"{self.base}/completions")

    @property
    def models(self) -> str:
        """Where models are listed."""
        return self._at(f"{self.base}/models")

    def beside(self, name: str) -> str:
        """A service of llama.cpp's server that lies beside the versioned API."""
        head, _, last = self.base.rpartition("/")
        return self._at(f"{head if _VERSION.fullmatch(last) else self.base}/{name}")

    @property
    def other_base(self) -> str:
        """The base URL in its other form, with or without its version; what to try after a 404."""
        head, _, last = self.base.rpartition("/")
        return shown(head if _VERSION.fullmatch(last) else f"{self.base}/v1")

    def _at(self, url: str) -> str:
        return f"{url}?{self.query}" if self.query else url


@lru_cache
def normalise(base_url: str) -> Urls:
    """The services behind a base URL given with or without `/v1`, a slash, or a whole endpoint's path.

    Raises EndpointError for what is no HTTP address.
    """
    text = "".join(without_invisible(base_url).split())
    try:
        if text and "://" not in text:
            text = f"{'http' if _is_near(urlsplit(f'//{text}').hostname) else 'https'}://{text}"
        parts = urlsplit(text)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), None
    if parts.scheme not in ("http", "https") or not host:
        raise EndpointError(
            "Invalid base URL",
            shown(text) if text else "It is empty.",
            "It looks like https://api.example.com/v1; a path such as /completions may follow.",
        )
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    shorter = _TAIL.sub("", path)
    # A whole path that names the endpoint without any version is meant as it is (deployments at Azure).
    named = path != shorter and path.endswith("/completions") and not path.endswith("/chat/completions")
    path = _DOUBLED.sub(r"\1", shorter)
    if not named and not any(map(_VERSION.fullmatch, path.split("/"))):
        path += "/v1"
    return Urls(urlunsplit((parts.scheme, parts.netloc, path, "", "")), parts.query)


def shown(url: str) -> str:
    """A URL for a person: without user name, password and query; nothing of what may be one in no address."""
    try:
        parts = urlsplit(url)
        if parts.hostname and (parts.port or 1) > 0:
            return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        pass
    return "It is not shown, as it may hold a secret." if set("@?#") & set(url) else url


def _is_near(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or "." not in host
