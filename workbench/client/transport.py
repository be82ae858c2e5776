"""HTTP connections to endpoints: the only module that knows the HTTP library."""

from __future__ import annotations

import os
import sys
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import httpcore
from httpcore import URL, Request, Response
from httpcore import Proxy as CoreProxy

from workbench.client.pool import Pool
from workbench.client.proxies import Proxy, proxy_of
from workbench.client.reply import BrokenError, NotConnectedError, Reply
from workbench.client.tls import tls_context
from workbench.client.urls import PORTS, shown
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError

if find_spec("sniffio") is None:
    # The HTTP library tries to import it for each connection, and searches all paths in vain.
    sys.modules["sniffio"] = None  # type: ignore[assignment]

_READABLE = ("gzip", "x-gzip", "deflate")
_ANY_HEADER = zlib.MAX_WBITS | 32
"""What zlib takes for gzip as well as for deflate."""
_PLAIN = "%/:@!$&'()*+,;=~?"
"""What stands in a path or a query as it is."""
_BROKEN = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    OSError,
)
_OWN_HEADERS = {
    "User-Agent": "completion-workbench",
    # Compressed streams arrive in lumps, as proxies gather them first.
    "Accept-Encoding": "identity",
}


class Transport:
    """The connections to one endpoint, with its timeouts, proxy, TLS files and headers."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises EndpointError where a proxy or a TLS file cannot be used."""
        self._endpoint = endpoint
        times = endpoint.timeouts
        self._timeouts = {"connect": times.connect, "read": times.read, "write": times.write}
        proxy = proxy_of(endpoint, os.environ)
        self._pool = Pool(tls_context(endpoint, os.environ), None if proxy is None else _proxy(proxy))

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncGenerator[Reply]:
        """Send a request; the connection is closed on leaving, unless the answer was read to its end.

        Raises NotConnectedError or BrokenError.
        """
        try:
            request = self._request(method, url, headers, body)
        except ValueError:
            raise BrokenError(_unsendable(url)) from None
        connection = await self._pool.take(request.url.origin)
        try:
            response = await self._send(connection, request, url)
            try:
                head = _head(response)
                reason = response.extensions["reason_phrase"].decode("ascii", "ignore")
                yield Reply(response.status, reason, head, self._pieces(response, head, url))
            finally:
                await response.aclose()
        finally:
            await self._pool.give_back(connection)

    def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Request:
        """Raises ValueError for what no request can carry."""
        address = _address(url)
        sent = {name.lower(): (name, value) for name, value in {**_OWN_HEADERS, **headers}.items()}
        if address.authorization:
            sent["authorization"] = ("Authorization", address.authorization)
        raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in sent.values()]
        raw.insert(0, (b"Host", address.host))
        if body:
            raw.append((b"Content-Length", b"%d" % len(body)))
        return Request(method, address.url, headers=raw, content=body, extensions={"timeout": self._timeouts})

    async def _send(
        self, connection: httpcore.AsyncConnectionInterface, request: Request, url: str
    ) -> Response:
        try:
            return await connection.handle_async_request(request)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError) as error:
            raise NotConnectedError(_not_connected(error, url, self._endpoint)) from None
        except (httpcore.UnsupportedProtocol, httpcore.LocalProtocolError):
            raise BrokenError(_unsendable(url)) from None
        except _BROKEN as error:
            raise BrokenError(_broken(error, url, self._endpoint)) from None

    async def _pieces(self, response: Response, head: Mapping[str, str], url: str) -> AsyncGenerator[bytes]:
        encoding = head.get("content-encoding", "identity").strip().lower()
        encoded = encoding not in ("", "identity")
        if encoded and encoding not in _READABLE:
            raise BrokenError(_compressed(encoding))
        assert isinstance(response.stream, AsyncIterable)
        source = _unpacked(response.stream) if encoded else response.stream
        try:
            async for piece in source:
                yield piece
        except zlib.error as error:
            raise BrokenError(_compressed(str(error))) from None
        except _BROKEN as error:
            raise BrokenError(_broken(error, url, self._endpoint)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Address(NamedTuple):
    """An address as a request carries it."""

    url: URL
    host: bytes
    """With the port, where it is not the scheme's own."""
    authorization: str
    """For the user name and password in the address; empty where it has none."""


@lru_cache
def _address(url: str) -> _Address:
    """Raises ValueError for an address that cannot be written in ASCII."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    host = name.encode("ascii" if name.isascii() else "idna")
    target = quote(parts.path or "/", safe=_PLAIN) + (
        f"?{quote(parts.query, safe=_PLAIN)}" if parts.query else ""
    )
    shown_host = b"[%s]" % host if b":" in host else host
    if parts.port not in (None, PORTS.get(parts.scheme)):
        shown_host += b":%d" % (parts.port or 0)
    authorization = ""
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(pair.encode()).decode()}"
    return _Address(
        URL(scheme=parts.scheme, host=host, port=parts.port, target=target), shown_host, authorization
    )


def _head(response: Response) -> dict[str, str]:
    """The headers by lower-case name; several of one name joined."""
    head: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        head[name] = f"{head[name]}, {value}" if name in head else value
    return head


async def _unpacked(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """A compressed body as it was. Raises zlib.error."""
    unpacker = zlib.decompressobj(_ANY_HEADER)
    is_first = True
    async for piece in pieces:
        try:
            plain = unpacker.decompress(piece)
        except zlib.error:
            if not is_first:
                raise
            # Some servers send `deflate` without the header that it has.
            unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
            plain = unpacker.decompress(piece)
        is_first = False
        yield plain


def _proxy(proxy: Proxy) -> CoreProxy:
    """A proxy for httpcore. Raises EndpointError where SOCKS support is missing."""
    parts = urlsplit(proxy.url)
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        named = f" that {proxy.variable} names" if proxy.variable else ""
        raise EndpointError(
            f"The proxy{named} needs SOCKS support, which is not installed",
            one_line(shown(proxy.url)),
            "Install it with: pip install socksio; or name an HTTP proxy.",
        )
    auth = (
        None
        if parts.username is None
        else (unquote(parts.username).encode(), unquote(parts.password or "").encode())
    )
    return CoreProxy(_address(proxy.url).url, auth=auth)


def _unsendable(url: str) -> EndpointError:
    return EndpointError(
        "The request cannot be sent",
        shown(url),
        "Check the base URL and the headers in the endpoint's profile.",
    )


def _not_connected(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    words = one_line(str(error))
    if isinstance(error, httpcore.ConnectTimeout):
        return EndpointError(
            f"No connection within {endpoint.timeouts.connect:g} s",
            shown(url),
            "Check the address, the network and the proxy.",
        )
    if isinstance(error, httpcore.ProxyError):
        return EndpointError("The proxy refused the connection", words, "Check the endpoint's proxy.")
    if "CERTIFICATE" in words or "SSL" in words:
        return EndpointError(
            "The endpoint's certificate was not accepted",
            words,
            "Name its authority's file as ca_file in the profile.",
        )
    return EndpointError(
        "The endpoint cannot be reached",
        f"{shown(url)}: {words}" if words else shown(url),
        "Is the server running? Check the address, network and proxy.",
    )


def _broken(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    words = one_line(str(error))
    if isinstance(error, httpcore.ReadTimeout):
        return EndpointError(
            f"No data received for {endpoint.timeouts.read:g} s",
            shown(url),
            "Raise the read timeout in the endpoint's profile, or ask for less.",
        )
    return EndpointError(
        "Connection lost",
        words or shown(url),
        "Send it again; if it is lost again, the endpoint or a proxy in between closes it.",
    )


def _compressed(words: str) -> EndpointError:
    return EndpointError(
        "The answer is compressed in a way that cannot be read",
        one_line(words),
        "A proxy in between compresses the response although asked not to; bypass it.",
    )
