"""HTTP connections to endpoints: the only module that knows the HTTP library."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import asynccontextmanager

import httpx

from workbench.client.network import JoiningBackend
from workbench.client.reply import BrokenError, NotConnectedError, Reply
from workbench.client.urls import shown
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError

_POOL_WAIT = 10
_READABLE = ("gzip", "x-gzip", "deflate")
_BROKEN = (httpx.TransportError, httpx.StreamError, httpx.DecodingError, OSError)


class Transport:
    """The connections to one endpoint, with its timeouts, proxy, TLS files and headers."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises EndpointError where a proxy or a TLS file cannot be used."""
        self._endpoint = endpoint
        times = endpoint.timeouts
        try:
            self._http = httpx.AsyncClient(
                verify=_tls(endpoint),
                trust_env=endpoint.trust_environment,
                proxy=endpoint.proxy or None,
                follow_redirects=False,
                timeout=httpx.Timeout(
                    connect=times.connect, read=times.read, write=times.write, pool=_POOL_WAIT
                ),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=_kept(endpoint)),
                # Compressed streams arrive in lumps, as proxies gather them first.
                headers={"User-Agent": "completion-workbench", "Accept-Encoding": "identity"},
            )
            _join_chunks(self._http)
        except ImportError:
            raise EndpointError(
                "The proxy needs SOCKS support, which is not installed",
                one_line(endpoint.proxy.rpartition("@")[2]),
                "Install it with: pip install 'httpx[socks]'; or name an HTTP proxy.",
            ) from None
        except (ssl.SSLError, OSError) as error:
            raise EndpointError(
                "A TLS file of the endpoint cannot be used",
                one_line(str(error)),
                "Check ca_file, client_certificate and client_key in its profile.",
            ) from None
        except (ValueError, httpx.InvalidURL) as error:
            raise EndpointError(
                "The endpoint's proxy is no usable address",
                one_line(str(error)),
                "It looks like http://127.0.0.1:3128.",
            ) from None

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncGenerator[Reply]:
        """Send a request; the connection is closed on leaving, unless the answer was read to its end.

        Raises NotConnectedError or BrokenError.
        """
        try:
            request = self._http.build_request(method, url, headers=dict(headers), content=body or None)
            response = await self._http.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise NotConnectedError(_not_connected(error, url, self._endpoint)) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeEncodeError, httpx.LocalProtocolError):
            raise BrokenError(
                EndpointError(
                    "The request cannot be sent",
                    shown(url),
                    "Check the base URL and the headers in the endpoint's profile.",
                )
            ) from None
        except _BROKEN as error:
            raise BrokenError(_broken(error, url, self._endpoint)) from None
        try:
            head = {name.lower(): value for name, value in response.headers.items()}
            yield Reply(response.status_code, response.reason_phrase, head, self._pieces(response, head))
        finally:
            await response.aclose()

    async def _pieces(self, response: httpx.Response, head: Mapping[str, str]) -> AsyncGenerator[bytes]:
        encoding = head.get("content-encoding", "identity").strip().lower()
        encoded = encoding not in ("", "identity")
        if encoded and encoding not in _READABLE:
            raise BrokenError(_compressed(encoding))
        # The stream beneath `aiter_raw()`, which would repack every piece once more.
        source = response.aiter_bytes() if encoded else response.stream
        assert isinstance(source, AsyncIterable)
        try:
            async for piece in source:
                yield piece
        except _BROKEN as error:
            raise BrokenError(_broken(error, str(response.request.url), self._endpoint)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _join_chunks(http: httpx.AsyncClient) -> None:
    """Put the joining network beneath; the library has no public place for it."""
    for transport in (http._transport, *http._mounts.values()):
        if isinstance(transport, httpx.AsyncHTTPTransport):
            pool = transport._pool
            pool._network_backend = JoiningBackend(pool._network_backend)


def _kept(endpoint: Endpoint) -> int:
    """How many connections are kept for the next request.

    Servers that close a connection behind an answer which promised to keep it (llama.cpp's) may do so just as
    the next request goes out, which must then count as billed. A new one costs next to nothing without TLS.
    """
    return 0 if endpoint.base_url.strip().lower().startswith("http://") else 64


def _tls(endpoint: Endpoint) -> ssl.SSLContext | bool:
    if endpoint.base_url.strip().startswith("http://") and not endpoint.proxy.startswith("https:"):
        # Reading the certificates takes longer than a local request, and nothing here uses them.
        return False
    if not endpoint.verify:
        context = ssl._create_unverified_context()
    elif endpoint.ca_file:
        context = ssl.create_default_context(cafile=endpoint.ca_file)
    else:
        context = httpx.create_ssl_context(trust_env=endpoint.trust_environment)
    if endpoint.client_certificate:
        context.load_cert_chain(endpoint.client_certificate, endpoint.client_key or None)
    return context


def _not_connected(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    words = one_line(str(error))
    if isinstance(error, httpx.ConnectTimeout):
        return EndpointError(
            f"No connection within {endpoint.timeouts.connect:g} s",
            shown(url),
            "Check the address, the network and the proxy.",
        )
    if isinstance(error, httpx.ProxyError):
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
        "Check that it runs, its address, the network and the proxy.",
    )


def _broken(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    words = one_line(str(error))
    if isinstance(error, httpx.ReadTimeout):
        return EndpointError(
            f"Nothing came for {endpoint.timeouts.read:g} s",
            shown(url),
            "Raise the read timeout in the endpoint's profile, or ask for less.",
        )
    if isinstance(error, httpx.DecodingError):
        return _compressed(words)
    return EndpointError(
        "The connection broke off",
        words or shown(url),
        "Send it again; if it breaks off again, the endpoint or a proxy between closes it.",
    )


def _compressed(words: str) -> EndpointError:
    return EndpointError(
        "The answer is compressed in a way that cannot be read",
        one_line(words),
        "A proxy between compresses what it was asked not to; go around it.",
    )
