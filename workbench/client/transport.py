"""HTTP and TLS connections to endpoints, using httpx and httpcore."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpcore
import httpx
from httpcore import Proxy as CoreProxy
from httpcore import default_ssl_context

from workbench.client.pool import Pool
from workbench.client.proxies import Proxy, proxy_of
from workbench.client.request_attempts import Reply
from workbench.client.retries import NotConnectedError
from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.url_display import show_url


def tls_context(endpoint: Endpoint, environment: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context of an endpoint; None if neither endpoint nor proxy uses TLS.

    None also saves reading the certificates, which takes longer than a local request. Raises EndpointError
    with the path and the setting of a file that cannot be used.
    """
    if endpoint.base_url.strip().startswith("http://") and not endpoint.proxy.startswith("https:"):
        return None
    context = _trusting(endpoint, environment)
    if certificate := endpoint.client_certificate:
        files = {"client_certificate": certificate, "client_key": endpoint.client_key}
        for name, path in files.items():
            # OpenSSL's errors do not say which of the two files they are about.
            with _usable(name, path):
                if path:
                    Path(path).open("rb").close()
        with _usable("client_certificate", ", ".join(filter(None, files.values()))):
            context.load_cert_chain(certificate, endpoint.client_key or None)
    return context


def _trusting(endpoint: Endpoint, environment: Mapping[str, str]) -> ssl.SSLContext:
    if not endpoint.verify:
        return ssl._create_unverified_context()
    if endpoint.ca_file:
        with _usable("ca_file", endpoint.ca_file):
            return ssl.create_default_context(cafile=endpoint.ca_file)
    if endpoint.trust_environment and (file := environment.get("SSL_CERT_FILE")):
        with _usable("SSL_CERT_FILE", file):
            return ssl.create_default_context(cafile=file)
    if endpoint.trust_environment and (folder := environment.get("SSL_CERT_DIR")):
        with _usable("SSL_CERT_DIR", folder):
            if not Path(folder).is_dir():
                raise OSError("It is not a folder.")
            return ssl.create_default_context(capath=folder)
    return default_ssl_context()


@contextmanager
def _usable(name: str, path: str) -> Iterator[None]:
    """Raise EndpointError, which names the setting and the file, if a file cannot be read or used."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        hint = f"Correct {name} in the endpoint's profile."
        if name.isupper():
            hint = f"Correct or unset the environment variable {name}."
        message = one_line(f"{name}: {path}: {why}")
        raise EndpointError("A TLS file of the endpoint cannot be used", message, hint) from None


if find_spec("sniffio") is None:
    # The HTTP library tries to import it for each connection; this avoids the search of all paths.
    sys.modules["sniffio"] = None  # type: ignore[assignment]

_READABLE = ("gzip", "deflate")
_OLD_GZIP = (b"content-encoding", b"x-gzip")
_NOT_CONNECTED = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError)
_NOT_SENDABLE = (
    httpx.InvalidURL,
    httpx.UnsupportedProtocol,
    httpcore.UnsupportedProtocol,
    httpcore.LocalProtocolError,
    UnicodeError,
)
_BROKEN = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpx.DecodingError,
    OSError,
)
# No compression: proxies buffer compressed streams.
_HEADERS = {"User-Agent": "completion-workbench", "Accept-Encoding": "identity"}


class Transport:
    """The connections to one endpoint, with its timeouts, proxy, TLS files and headers."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises EndpointError if the proxy or a TLS file cannot be used."""
        self._endpoint = endpoint
        proxy = proxy_of(endpoint, os.environ)
        pool = Pool(tls_context(endpoint, os.environ), None if proxy is None else _proxy(proxy))
        self._http = httpx.AsyncClient(
            transport=_PoolTransport(pool),
            trust_env=False,
            timeout=httpx.Timeout(**endpoint.timeouts._asdict(), pool=None),
            headers=_HEADERS,
        )

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncGenerator[Reply]:
        """Send a request; on exit the connection is closed, unless the response was read to its end.

        Raises EndpointError if the request fails, NotConnectedError if no connection was established.
        """
        try:
            request = self._http.build_request(method, url, headers=dict(headers), content=body or None)
            response = await self._http.send(request, stream=True)
        except _NOT_CONNECTED as error:
            raise _not_connected(error, url, self._endpoint) from None
        except _NOT_SENDABLE:
            raise EndpointError(
                "The request cannot be sent",
                show_url(url),
                "Check the base URL and the headers in the endpoint's profile.",
            ) from None
        except _BROKEN as error:
            raise _broken(error, url, self._endpoint) from None
        async with aclosing(response):
            chunks = self._chunks(response, url)
            yield Reply(response.status_code, response.reason_phrase, response.headers, chunks)

    async def _chunks(self, response: httpx.Response, url: str) -> AsyncGenerator[bytes]:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        is_encoded = encoding not in ("", "identity")
        if is_encoded and encoding not in _READABLE:
            raise _compressed(encoding)
        # The stream below `aiter_raw()`, which would copy every chunk again.
        source = response.aiter_bytes() if is_encoded else response.stream
        assert isinstance(source, AsyncIterable)
        try:
            async for chunk in source:
                yield chunk
        except _BROKEN as error:
            raise _broken(error, url, self._endpoint) from None

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
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(self._pool.connection(sent.url.origin))
            response = await connection.handle_async_request(sent)
            stack.push_async_callback(response.aclose)
            assert isinstance(response.stream, AsyncIterable)
            headers = [
                # An old name of gzip that httpx does not decode.
                (name, b"gzip" if (name.lower(), value.lower()) == _OLD_GZIP else value)
                for name, value in response.headers
            ]
            body = _Body(response.stream, stack.pop_all())
            return httpx.Response(
                response.status, headers=headers, stream=body, extensions=response.extensions
            )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """A response body; closing it returns the connection to the pool, which keeps it if it was read fully."""

    def __init__(self, stream: AsyncIterable[bytes], exits: AsyncExitStack) -> None:
        self._stream, self._exits = stream, exits

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        """Close the body."""
        await self._exits.aclose()


def _core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _proxy(proxy: Proxy) -> CoreProxy:
    """Convert a proxy for httpcore. Raises EndpointError if SOCKS support is not installed."""
    parsed = httpx.Proxy(proxy.url)
    if parsed.url.scheme.startswith("socks") and find_spec("socksio") is None:
        named = f" that {proxy.variable} names" if proxy.variable else ""
        raise EndpointError(
            f"The proxy{named} needs SOCKS support, which is not installed",
            one_line(show_url(proxy.url)),
            "Install it with: pip install 'httpx[socks]'; or name an HTTP proxy.",
        )
    return CoreProxy(_core_url(parsed.url), auth=parsed.raw_auth, headers=parsed.headers.raw)


def _not_connected(error: Exception, url: str, endpoint: Endpoint) -> NotConnectedError:
    message = one_line(str(error))
    if isinstance(error, httpcore.ConnectTimeout):
        return NotConnectedError(
            f"No connection within {endpoint.timeouts.connect:g} s",
            show_url(url),
            "Check the address, the network and the proxy.",
        )
    if isinstance(error, httpcore.ProxyError):
        return NotConnectedError("The proxy refused the connection", message, "Check the endpoint's proxy.")
    if "CERTIFICATE" in message or "SSL" in message:
        return NotConnectedError(
            "The endpoint's certificate was not accepted",
            message,
            "Name its authority's file as ca_file in the profile.",
        )
    return NotConnectedError(
        "The endpoint cannot be reached",
        f"{show_url(url)}: {message}" if message else show_url(url),
        "Is the server running? Check the address, network and proxy.",
    )


def _broken(error: Exception, url: str, endpoint: Endpoint) -> EndpointError:
    message = one_line(str(error))
    if isinstance(error, httpcore.ReadTimeout):
        return EndpointError(
            f"No data received for {endpoint.timeouts.read:g} s",
            show_url(url),
            "Raise the read timeout in the endpoint's profile, or ask for less.",
        )
    if isinstance(error, httpx.DecodingError):
        return _compressed(message)
    return EndpointError(
        "Connection lost",
        message or show_url(url),
        "Send it again; if it is lost again, the endpoint or a proxy in between closes it.",
    )


def _compressed(detail: str) -> EndpointError:
    return EndpointError(
        "The answer is compressed in a way that cannot be read",
        one_line(detail),
        "A proxy in between compresses the response although asked not to; bypass it.",
    )
