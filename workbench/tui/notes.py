"""What the workbench says unasked: which fields an endpoint ignores, and which endpoints could be used."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.domain.endpoint import EnvironmentKey
from workbench.domain.probe import Verdict
from workbench.storage.config import config_file
from workbench.storage.endpoints import offered
from workbench.storage.folders import Folders
from workbench.storage.probes import load_probe
from workbench.tui.services import Services


def probe_notes(folders: Folders, endpoint: str) -> Mapping[str, str]:
    """Remarks by field, from the last probe of an endpoint; none where it was never probed."""
    probe = load_probe(folders, endpoint)
    if probe is None:
        return {}
    words = {Verdict.NO_EFFECT: "does nothing at this endpoint", Verdict.REFUSED: "is refused here"}
    return {
        one.name: f"{words[one.verdict]}: {one.evidence}" for one in probe.findings if one.verdict in words
    }


def offer(services: Services) -> str:
    """What to say of endpoints whose key is set, where nobody configured anything; else empty."""
    if config_file(services.folders).exists():
        return ""
    for endpoint in offered(services.endpoints, services.environment):
        if endpoint.name != services.endpoint.name and isinstance(endpoint.key, EnvironmentKey):
            key = services.commands["choose_endpoint"].first_key
            return f"{endpoint.key.variable} is set: choose {endpoint.name} with {key}"
    return ""
