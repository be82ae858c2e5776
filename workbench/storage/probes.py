"""Probe results, one file per endpoint, in the state folder apart from the user's profiles."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from workbench.domain.errors import StorageError
from workbench.domain.probe_findings import Probe
from workbench.storage.endpoint_profile import is_endpoint_name
from workbench.storage.files import Folders, write_atomically
from workbench.storage.toml_files import read_toml


def probe_file(folders: Folders, endpoint: str) -> Path:
    """Return the path of an endpoint's probe; for a bare URL its digest is the file name."""
    name = endpoint if is_endpoint_name(endpoint) else hashlib.sha256(endpoint.encode()).hexdigest()[:16]
    return folders.state / "probes" / f"{name}.toml"


def save_probe(folders: Folders, probe: Probe) -> Path:
    """Save a probe, replacing the endpoint's previous one. Raises StorageError."""
    path = probe_file(folders, probe.endpoint)
    write_atomically(path, tomli_w.dumps(probe.to_json()).encode("utf-8", "replace"))
    return path


def load_probe(folders: Folders, endpoint: str) -> Probe | None:
    """Load an endpoint's last probe; None if there is none or its file is damaged."""
    try:
        return probe_from_table(read_toml(probe_file(folders, endpoint)).table)
    except (StorageError, msgspec.ValidationError):
        return None


def probe_from_table(table: Mapping[str, Any]) -> Probe:
    """Parse a probe's table, the inverse of `Probe.to_json`. Raises msgspec.ValidationError."""
    return msgspec.convert({**table, "is_partial": table.get("partial", False)}, Probe)
