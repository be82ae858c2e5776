"""The recorded run that ships with the program, to be played with no engine and no network."""

from __future__ import annotations

from pathlib import Path

from workbench.domain.run import Run
from workbench.storage.session_file import parse_session

_FILE = Path(__file__).parent / "shipped" / "demo.toml"


def load_demo() -> Run:
    """The recorded run: the embedded model's answer to the example prompt, with five alternatives a token."""
    return parse_session(_FILE.read_bytes(), _FILE).session.runs[0]
