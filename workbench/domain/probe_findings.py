"""What a probe found out about an endpoint: which fields it honours, and its quirks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum

from workbench.domain.display import one_line
from workbench.domain.json_values import JsonValue


class ProbeVerdict(StrEnum):
    """What an endpoint does with a field."""

    HONOURED = "honoured"
    """It changed the answer as it should."""
    NO_EFFECT = "no effect"
    """Silently ignored: it was accepted, and nothing changed."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """It could not be determined; the evidence says why."""

    @property
    def glyph(self) -> str:
        """A sign that says it without colour."""
        return {"honoured": "✓", "no effect": "–", "refused": "✗", "unknown": "?"}[self.value]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out."""

    name: str
    """A field's API name, or the quirk asked about (`two prompts`, `raw logprobs`)."""
    verdict: ProbeVerdict
    evidence: str
    """What was seen, on one line."""


@dataclass(frozen=True, slots=True)
class Probe:
    """All that was found out about a model at an endpoint."""

    endpoint: str
    model: str
    at: datetime
    requests: int
    """How many requests it took."""
    findings: tuple[Finding, ...]
    is_partial: bool = False
    """Whether it was stopped before its end."""

    def over(self, older: Probe | None) -> Probe:
        """A probe that was stopped, with what an older one of the same model found besides."""
        if not self.is_partial or older is None or older.model != self.model:
            return self
        known = {finding.name for finding in self.findings}
        kept = tuple(finding for finding in older.findings if finding.name not in known)
        return replace(self, findings=(*self.findings, *kept), is_partial=older.is_partial)

    def verdict(self, name: str) -> ProbeVerdict:
        """What was found about a field; unknown where nobody asked."""
        named = (finding.verdict for finding in self.findings if finding.name == name)
        return next(named, ProbeVerdict.UNKNOWN)

    def table(self) -> str:
        """The findings as lines of plain text."""
        width = max((len(finding.name) for finding in self.findings), default=0)
        return "\n".join(
            f"{finding.verdict.glyph} {finding.name:{width}}  {finding.verdict:9}  "
            f"{one_line(finding.evidence, 120)}"
            for finding in self.findings
        )

    def to_json(self) -> dict[str, JsonValue]:
        """The probe as JSON or TOML holds it."""
        table = {**asdict(self), "at": self.at.isoformat(), "findings": list(map(asdict, self.findings))}
        return {**table, "partial": True} if table.pop("is_partial") else table
