"""Notes on the main screen: which fields an endpoint ignores, and which endpoints could be used."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.domain.endpoint import EnvironmentKey
from workbench.domain.probe_findings import ProbeVerdict
from workbench.storage.config import config_file
from workbench.storage.endpoint_list import offered
from workbench.storage.files import Folders, is_missing
from workbench.storage.probes import load_probe
from workbench.tui.commands.keymap import CommandTable
from workbench.workspace.services import Services

_MOST_OFFERED = 3
"""The most endpoints named in the note."""


def probe_notes(folders: Folders, endpoint: str) -> Mapping[str, str]:
    """Return notes by field from the last probe of an endpoint; empty if it was never probed."""
    probe = load_probe(folders, endpoint)
    if probe is None:
        return {}
    phrases = {
        ProbeVerdict.NO_EFFECT: "has no effect at this endpoint",
        ProbeVerdict.REFUSED: "is refused here",
    }
    return {
        finding.name: f"{phrases[finding.verdict]}: {finding.evidence}"
        for finding in probe.findings
        if finding.verdict in phrases
    }


def offer(services: Services, commands: CommandTable) -> str:
    """Suggest endpoints whose API key is set; empty if there are none or the person has configured any."""
    if not is_missing(config_file(services.folders)) or services.endpoints.own:
        return ""
    found = [
        (endpoint.key.variable, endpoint.name)
        for endpoint in offered(services.endpoints, services.environment)
        if endpoint.name != services.endpoint.name and isinstance(endpoint.key, EnvironmentKey)
    ][:_MOST_OFFERED]
    if not found:
        return ""
    variables, names = (list(dict.fromkeys(column)) for column in zip(*found, strict=True))
    key = commands["choose_endpoint"].first_key
    are = "is" if len(variables) == 1 else "are"
    return f"{' and '.join(variables)} {are} set: choose {' or '.join(names)} with {key}"
