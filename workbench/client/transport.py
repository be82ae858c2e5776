"""HTTP and TLS connections to endpoints, using httpx and httpcore."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import httpcore
import httpx
from httpcore import Proxy as CoreProxy
from httpcore import default_ssl_context

from workbench.client.pool import Pool
from workbench.client.proxies import Proxy, proxy_of
from workbench.client.request_attempts import BrokenError, NotConnectedError, Reply
from workbench.client.urls import shown
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError


def tls_context(endpoint: Endpoint, environment: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context of an endpoint; None if neither endpoint nor proxy uses TLS.

    None also saves reading the certificates, which takes longer than a local request. Raises EndpointError
    with the path and the setting of a file that cannot be used.
    """
    if endpoint.base_url.strip().startswith("http://") and not endpoint.proxy.startswith("https:"):
        return None
    context = _trusting(endpoint, environment)
    if certificate := endpoint.client_certificate:
        for field, path in (("client_certificate", certificate), ("client_key", endpoint.client_key)):
            _readable(field, path)
        try:
            context.load_cert_chain(certificate, endpoint.client_key or None)
        except (ssl.SSLError, OSError) as error:
            both = ", ".join(filter(None, (certificate, endpoint.client_key)))
            raise _unusable("client_certificate", both, str(error)) from None
    return context


def _trusting(endpoint: Endpoint, environment: Mapping[str, str]) -> ssl.SSLContext:
    if not endpoint.verify:
        return ssl._create_unverified_context()
    name, file, folder = "ca_file", endpoint.ca_file, ""
    if not file and endpoint.trust_environment:
        name, file = "SSL_CERT_FILE", environment.get("SSL_CERT_FILE", "")
        folder = "" if file else environment.get("SSL_CERT_DIR", "")
    if folder:
        if not Path(folder).is_dir():
            raise _unusable("SSL_CERT_DIR", folder, "It is not a folder.")
        return ssl.create_default_context(capath=folder)
    if not file:
        return default_ssl_context()
    _readable(name, file)
    try:
        return ssl.create_default_context(cafile=file)
    except (ssl.SSLError, OSError) as error:
        raise _unusable(name, file, str(error)) from None


def _readable(name: str, path: str) -> None:
    """Raise EndpointError if a file cannot be read; OpenSSL's errors do not name the file."""
    try:
        if path:
            with Path(path).open("rb"):
                pass
    except (OSError, ValueError) as error:
        raise _unusable(name, path, getattr(error, "strerror", None) or str(error)) from None


def _unusable(name: str, path: str, why: str) -> EndpointError:
    hint = f"Correct {name} in the endpoint's profile."
    if name.isupper():
        hint = f"Correct or unset the environment variable {name}."
    return EndpointError(
        "A TLS file of the endpoint cannot be used", one_line(f"{name}: {path}: {why}"), hint
    )


if find_spec("sniffio") is None:
    # The HTTP library tries to import it for each connection; this avoids the search of all paths.
    sys.modules["sniffio"] = None  # type: ignore[assignment]

_READABLE = ("gzip", "deflate")
_OLD_GZIP = (b"content-encoding", b"x-gzip")
_BROKEN = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpx.StreamError,
    httpx.DecodingError,
    OSError,
)


class Transport:
    """The connections to one endpoint, with its timeouts, proxy, TLS files and headers."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises EndpointError if the proxy or a TLS file cannot be used."""
        self._endpoint = endpoint
        times = endpoint.timeouts
        proxy = proxy_of(endpoint, os.environ)
        pool = Pool(tls_context(endpoint, os.environ), None if proxy is None else _proxy(proxy))
        self._http = httpx.AsyncClient(
            transport=_PoolTransport(pool),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(connect=times.connect, read=times.read, write=times.write, pool=None),
            # No compression: proxies buffer compressed streams.
            headers={"User-Agent": "completion-workbench", "Accept-Encoding": "identity"},
        )

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncGenerator[Reply]:
        """Send a request; on exit the connection is closed, unless the response was read to its end.

        Raises NotConnectedError or BrokenError.
        """
        try:
            request = self._http.build_request(method, url, headers=dict(headers), content=body or None)
            response = await self._http.send(request, stream=True)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError) as error:
            raise NotConnectedError(_not_connected(error, url, self._endpoint)) from None
        except (
            httpx.InvalidURL,
            httpx.UnsupportedProtocol,
            httpcore.UnsupportedProtocol,
            httpcore.LocalProtocolError,
            UnicodeError,
        ):
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
            yield Reply(response.status_code, response.reason_phrase, head, self._chunks(response, head))
        finally:
            await response.aclose()

    async def _chunks(self, response: httpx.Response, head: Mapping[str, str]) -> AsyncGenerator[bytes]:
        encoding = head.get("content-encoding", "identity").strip().lower()
        encoded = encoding not in ("", "identity")
        if encoded and encoding not in _READABLE:
            raise BrokenError(_compressed(encoding))
        # The stream below `aiter_raw()`, which would copy every chunk again.
        source = response.aiter_bytes() if encoded else response.stream
        assert isinstance(source, AsyncIterable)
        try:
            async for chunk in source:
                yield chunk
        except _BROKEN as error:
            raise BrokenError(_broken(error, str(response.request.url), self._endpoint)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()


class _PoolTransport(httpx.AsyncBaseTransport):
    """Sends httpx requests over the connections of a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpcore errors."""
        assert isinstance(request.stream, AsyncIterable)
        sent = httpcore.Request(
            request.method,
            _core_url(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        connection = await self._pool.take(sent.url.origin)
        try:
            response = await connection.handle_async_request(sent)
        except BaseException:
            await self._pool.give_back(connection)
            raise
        return httpx.Response(
            response.status,
            headers=[
                # An old name of gzip that httpx does not decode.
                (name, b"gzip" if (name.lower(), value.lower()) == _OLD_GZIP else value)
                for name, value in response.headers
            ],
            stream=_Body(response, connection, self._pool),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """A response body; closing it returns the connection to the pool, which keeps it if it was read fully."""

    def __init__(
        self, response: httpcore.Response, connection: httpcore.AsyncConnectionInterface, pool: Pool
    ) -> None:
        self._response, self._connection, self._pool = response, connection, pool

    def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, AsyncIterable)
        return aiter(self._response.stream)

    async def aclose(self) -> None:
        """Close the body."""
        try:
            await self._response.aclose()
        finally:
            await self._pool.give_back(self._connection)


def _core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _proxy(proxy: Proxy) -> CoreProxy:
    """Convert a proxy for httpcore. Raises EndpointError if SOCKS support is not installed."""
    parsed = httpx.Proxy(proxy.url)
    if parsed.url.scheme.startswith("socks") and find_spec("socksio") is None:
        named = f" that {proxy.variable} names" if proxy.variable else ""
        raise EndpointError(
            f"The proxy{named} needs SOCKS support, which is not installed",
            one_line(shown(proxy.url)),
            "Install it with: pip install 'httpx[socks]'; or name an HTTP proxy.",
        )
    return CoreProxy(_core_url(parsed.url), auth=parsed.raw_auth, headers=parsed.headers.raw)


def _not_connected(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    message = one_line(str(error))
    if isinstance(error, httpcore.ConnectTimeout):
        return EndpointError(
            f"No connection within {endpoint.timeouts.connect:g} s",
            shown(url),
            "Check the address, the network and the proxy.",
        )
    if isinstance(error, httpcore.ProxyError):
        return EndpointError("The proxy refused the connection", message, "Check the endpoint's proxy.")
    if "CERTIFICATE" in message or "SSL" in message:
        return EndpointError(
            "The endpoint's certificate was not accepted",
            message,
            "Name its authority's file as ca_file in the profile.",
        )
    return EndpointError(
        "The endpoint cannot be reached",
        f"{shown(url)}: {message}" if message else shown(url),
        "Is the server running? Check the address, network and proxy.",
    )


def _broken(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    message = one_line(str(error))
    if isinstance(error, httpcore.ReadTimeout):
        return EndpointError(
            f"No data received for {endpoint.timeouts.read:g} s",
            shown(url),
            "Raise the read timeout in the endpoint's profile, or ask for less.",
        )
    if isinstance(error, httpx.DecodingError):
        return _compressed(message)
    return EndpointError(
        "Connection lost",
        message or shown(url),
        "Send it again; if it is lost again, the endpoint or a proxy in between closes it.",
    )


def _compressed(detail: str) -> EndpointError:
    return EndpointError(
        "The answer is compressed in a way that cannot be read",
        one_line(detail),
        "A proxy in between compresses the response although asked not to; bypass it.",
    )
