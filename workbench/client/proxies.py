"""Find the proxy of an endpoint, from its profile or from the environment."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from workbench.client.urls import PORTS, normalise
from workbench.domain.endpoint import PROXY_SCHEMES, Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.url_display import show_url, split_url


class Proxy(NamedTuple):
    """A proxy's URL, and its source."""

    url: str
    variable: str = ""
    """The environment variable that sets it; empty if the profile does."""


def proxy_of(endpoint: Endpoint, environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy of an endpoint; None for a direct connection.

    Raises EndpointError for an invalid proxy address.
    """
    if endpoint.proxy:
        return _checked(Proxy(endpoint.proxy))
    if not endpoint.trust_environment:
        return None
    parts = urlsplit(normalise(endpoint.base_url).base)
    exempt = environment.get("no_proxy") or environment.get("NO_PROXY", "")
    if is_exempt(exempt, parts.hostname or "", parts.port or PORTS[parts.scheme]):
        return None
    names = (f"{parts.scheme}_proxy", f"{parts.scheme}_proxy".upper(), "all_proxy", "ALL_PROXY")
    named = (Proxy(environment.get(name, "").strip(), name) for name in names)
    found = next((proxy for proxy in named if proxy.url), None)
    return None if found is None else _checked(found)


def _checked(proxy: Proxy) -> Proxy:
    url = f"http://{proxy.url}" if proxy.variable and "://" not in proxy.url else proxy.url
    parts = split_url(url)
    if parts is not None and parts.scheme in PROXY_SCHEMES and url.isprintable():
        return proxy._replace(url=url)
    hint = "It looks like http://127.0.0.1:3128 or socks5://127.0.0.1:1080."
    if parts is not None and parts.scheme in ("socks", "socks4", "socks4a"):
        hint = f"Write it as socks5://{parts.netloc.rpartition('@')[2]} if it is a SOCKS5 proxy."
    named = f"{proxy.variable} is not a usable proxy address"
    raise EndpointError(named if proxy.variable else "Invalid proxy address", show_url(url), hint)


def is_exempt(exempt: str, host: str, port: int) -> bool:
    """Whether NO_PROXY exempts a host, by name, domain, address or network; other entries are ignored."""
    entries = exempt.replace(",", " ").split()
    return any(_covers(entry.rpartition("://")[2].lower(), host.lower(), port) for entry in entries)


def _covers(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass
    else:
        return address is not None and address.version == network.version and address in network
    name, colon, number = entry.rpartition(":")
    if colon:
        return number == str(port) and _covers(name, host, port)
    domain = entry.removeprefix("*").removeprefix(".").rstrip(".")
    plain = host.rstrip(".")
    return bool(domain) and address is None and (plain == domain or plain.endswith(f".{domain}"))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
