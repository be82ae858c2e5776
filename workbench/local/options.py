"""What a person may decide about the local server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve: where, which model, for whom, and how much at once."""

    host: str = "127.0.0.1"
    """The address to bind; one beyond loopback needs a key."""
    port: int = 0
    """The port to bind; 0 lets the system choose."""
    model: str | None = None
    """A GGUF file; None is the embedded model."""
    api_key_env: str | None = None
    """The name of the environment variable that holds the key; None asks for no key."""
    parent_watch: bool = False
    """Whether to end with the parent process, however it ends: its end of standard input closes."""
    slots: int = 4
    """How many choices are generated at once."""
    context: int = 4096
    """The most tokens that prompt and answer may have together, for each choice."""
    cors: tuple[str, ...] = ()
    """The origins of web pages that may read answers."""
    queue: int = 28
    """How many requests may wait for a slot before others are turned away."""
