"""Normalise base URLs as people paste them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlunsplit

from workbench.domain.display import without_invisible
from workbench.domain.errors import EndpointError
from workbench.domain.url_display import show_url, split_url

PORTS = {"http": 80, "https": 443}

_TAIL = re.compile(r"(?:/chat/completions|/completions|/models|/responses)$")
_VERSION = re.compile(r"v\d+\w*|beta")
_DOUBLED = re.compile(r"(/v\d+)(?:\1)+(?=/|$)")


@dataclass(frozen=True, slots=True)
class Urls:
    """The URLs of an endpoint's services."""

    base: str
    """With the version, without trailing slash and query."""
    query: str = ""

    @property
    def completions(self) -> str:
        """URL of completions."""
        return self._at(f"{self.base}/completions")

    @property
    def models(self) -> str:
        """URL of the list of models."""
        return self._at(f"{self.base}/models")

    def beside(self, name: str) -> str:
        """Return the URL of a llama.cpp service beside the versioned API."""
        head, _, last = self.base.rpartition("/")
        return self._at(f"{head if _VERSION.fullmatch(last) else self.base}/{name}")

    @property
    def other_base(self) -> str:
        """The base URL with its version removed, or added if it has none; to suggest after a 404."""
        head, _, last = self.base.rpartition("/")
        return show_url(head if _VERSION.fullmatch(last) else f"{self.base}/v1")

    def _at(self, url: str) -> str:
        return f"{url}?{self.query}" if self.query else url


@lru_cache
def normalise(base_url: str) -> Urls:
    """Return the URLs for a base URL with or without `/v1`, a trailing slash, or the path of a service.

    Raises EndpointError if it is not an HTTP URL.
    """
    text = "".join(without_invisible(base_url).split())
    if text and "://" not in text:
        near = split_url(f"//{text}")
        text = f"{'http' if _is_near(near and near.hostname) else 'https'}://{text}"
    parts = split_url(text)
    if parts is None or parts.scheme not in ("http", "https"):
        raise EndpointError(
            "Invalid base URL",
            show_url(text) if text else "It is empty.",
            "It looks like https://api.example.com/v1; a path such as /completions may follow.",
        )
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    shorter = _TAIL.sub("", path)
    # Keep a full path that ends in /completions without a version unchanged (Azure deployments).
    named = path != shorter and path.endswith("/completions") and not path.endswith("/chat/completions")
    path = _DOUBLED.sub(r"\1", shorter)
    if not named and not any(map(_VERSION.fullmatch, path.split("/"))):
        path += "/v1"
    return Urls(urlunsplit((parts.scheme, parts.netloc, path, "", "")), parts.query)


def _is_near(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or "." not in host
