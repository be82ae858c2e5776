"""Options of the local server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of the local server."""

    host: str = "127.0.0.1"
    """The address to bind; an address other than loopback requires a key."""
    port: int = 0
    """The port to bind; 0 lets the system choose."""
    model: str | None = None
    """A GGUF file; None for the embedded model."""
    api_key_env: str | None = None
    """The environment variable that holds the key; None requires no key."""
    parent_watch: bool = False
    """Whether to exit when the parent process ends."""
    slots: int = 4
    """Number of choices generated concurrently."""
    context: int = 4096
    """Maximum tokens of prompt and answer together, per choice."""
    cors: tuple[str, ...] = ()
    """Origins of web pages that may read responses."""
    queue: int = 28
    """Maximum number of requests that wait for a slot; others are refused."""
