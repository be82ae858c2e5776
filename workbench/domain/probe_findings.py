"""The findings of a probe: which fields an endpoint honours, and its quirks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum

from workbench.domain.display import one_line
from workbench.domain.json_values import JsonValue


class ProbeVerdict(StrEnum):
    """How an endpoint treats a field."""

    HONOURED = "honoured"
    """The field changed the answer as expected."""
    NO_EFFECT = "no effect"
    """The field was accepted, but changed nothing."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Could not be determined; the evidence gives the reason."""

    @property
    def glyph(self) -> str:
        """A symbol for the verdict, readable without colour."""
        return {"honoured": "✓", "no effect": "–", "refused": "✗", "unknown": "?"}[self.value]


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a probe."""

    name: str
    """A field's API name, or a quirk (`two prompts`, `raw logprobs`)."""
    verdict: ProbeVerdict
    evidence: str
    """The observation, on one line."""


@dataclass(frozen=True, slots=True)
class Probe:
    """All findings about a model at an endpoint."""

    endpoint: str
    model: str
    at: datetime
    requests: int
    """Number of requests sent."""
    findings: tuple[Finding, ...]
    is_partial: bool = False
    """Whether the probe was stopped early."""

    def over(self, older: Probe | None) -> Probe:
        """Add the missing findings of an older probe of the same model, if this probe is partial."""
        if not self.is_partial or older is None or older.model != self.model:
            return self
        known = {finding.name for finding in self.findings}
        kept = tuple(finding for finding in older.findings if finding.name not in known)
        return replace(self, findings=(*self.findings, *kept), is_partial=older.is_partial)

    def verdict(self, name: str) -> ProbeVerdict:
        """Return the verdict on a field; unknown if it was not probed."""
        named = (finding.verdict for finding in self.findings if finding.name == name)
        return next(named, ProbeVerdict.UNKNOWN)

    def table(self) -> str:
        """Format the findings as lines of plain text."""
        width = max((len(finding.name) for finding in self.findings), default=0)
        return "\n".join(
            f"{finding.verdict.glyph} {finding.name:{width}}  {finding.verdict:9}  "
            f"{one_line(finding.evidence, 120)}"
            for finding in self.findings
        )

    def to_json(self) -> dict[str, JsonValue]:
        """Return the probe as a JSON or TOML table."""
        table = {**asdict(self), "at": self.at.isoformat(), "findings": list(map(asdict, self.findings))}
        return {**table, "partial": True} if table.pop("is_partial") else table
