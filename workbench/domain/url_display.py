"""Show URLs without the secrets in them."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

HIDDEN = "…"
"""Replaces the part of a URL that may hold a secret."""


def split_url(url: str) -> SplitResult | None:
    """Split a URL; None unless it has a host and, if it names one, a valid port."""
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def show_url(url: str) -> str:
    """Return a URL, valid or not, without user name, password, query and fragment."""
    if (parts := split_url(url)) is not None:
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    scheme = f"{url.partition('://')[0]}://" if "://" in url else ""
    before, *after = re.split("[?#]", url.removeprefix(scheme), maxsplit=1)
    # A password may contain these characters, so that it is unknown where it ends.
    is_ambiguous = bool(after) and "@" in after[0]
    return scheme + (HIDDEN if is_ambiguous else before.rpartition("@")[2])
