"""The certificates that connections to an endpoint trust and show."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from httpcore import default_ssl_context

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError


def tls_context(endpoint: Endpoint, environment: Mapping[str, str]) -> ssl.SSLContext | None:
    """What TLS needs; None where neither endpoint nor proxy is asked over TLS.

    Reading the certificates takes longer than a local request. Raises EndpointError that names the file and
    the field or the variable that names it, where a file cannot be used.
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
    """Raises EndpointError where a file cannot be read; OpenSSL does not say which one."""
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
