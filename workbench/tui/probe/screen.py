"""The probe screen: which parameters an endpoint honours, ignores and refuses."""

from __future__ import annotations

import asyncio

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import DataTable, Static

from workbench.domain.display import one_line, plural, sentences
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import StorageError, WorkbenchError
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.runner.endpoint_probe import MOST_REQUESTS, MOST_TOKENS, Probing
from workbench.storage.probes import load_probe, save_probe
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.services import Services

_STYLES = {
    ProbeVerdict.HONOURED: "",
    ProbeVerdict.NO_EFFECT: "dim",
    ProbeVerdict.REFUSED: "bold",
    ProbeVerdict.UNKNOWN: "italic",
}


class ProbeScreen(ResultScreen[None]):
    """Announces the requests, sends them once confirmed, and shows each finding as it is made."""

    DEFAULT_CSS = """
    ProbeScreen #now { height: auto; max-height: 4; padding: 0 1; }
    ProbeScreen DataTable { height: 1fr; background: $background; }
    ProbeScreen #evidence { height: 3; padding: 0 1; color: $text-muted; border-top: solid $border-blurred; }
    """
    BINDINGS = bindings_at(Where.PROBE)
    where = Where.PROBE

    table = getters.query_one(DataTable)

    def __init__(self, services: Services, endpoint: Endpoint, model: str) -> None:
        super().__init__()
        self._services = services
        self._endpoint = endpoint
        self._model = model
        self._found = load_probe(services.folders, endpoint.name)
        """The last findings, before the current requests."""
        self._probing: Probing | None = None
        self._sending: asyncio.Task[None] | None = None
        self._shown: tuple[Finding, ...] = ()

    @property
    def is_probing(self) -> bool:
        """Whether requests are being sent."""
        return self._sending is not None and not self._sending.done()

    def compose(self) -> ComposeResult:
        yield HeadingRow("Probe")
        yield Static(id="now")
        yield DataTable(cursor_type="row", cursor_foreground_priority="renderable")
        yield Static(id="evidence")
        yield KeyRow(Where.PROBE)

    def on_mount(self) -> None:
        """Announce the requests, and show the last findings."""
        for name, width in (("", 1), ("feature", 20), ("result", 9), ("evidence", None)):
            self.table.add_column(Text(name, style="bold"), width=width)
        self.table.focus()
        self._show_status(self._announcement())
        self._show()

    def _announcement(self) -> str:
        endpoint = self._endpoint
        named = endpoint.address in ("", endpoint.name)
        server = endpoint.name if named else f"{endpoint.name} ({endpoint.address})"
        target = f"{self._model} at {server}" if self._model else server
        return sentences(
            f"{key_of(self.app, 'send_probe')} sends at most {MOST_REQUESTS} tiny requests, "
            f"of at most {MOST_TOKENS} tokens a choice, to {one_line(target, 100)}",
            "Nothing has been sent yet",
            "" if self._found is None else f"Below is what was found on {self._found.at:%Y-%m-%d}",
        )

    # --- sending -----------------------------------------------------------------------------------------

    def action_send(self) -> None:
        """Send the requests, unless they are being sent."""
        if not self.is_probing:
            self._sending = asyncio.create_task(self._probe())
            self._sending.add_done_callback(lambda _: self._show())
            self._show()

    def action_stop(self) -> None:
        """Stop and keep the findings so far; close if nothing is being sent."""
        if not self.action_stop_sending():
            self.dismiss(None)

    def action_stop_sending(self) -> bool:
        """Stop and keep the findings so far; return False if nothing is being sent."""
        return self._sending is not None and self._sending.cancel()

    async def on_unmount(self) -> None:
        """Stop sending, and wait for its end."""
        if self._sending is not None and self.action_stop_sending():
            await asyncio.wait({self._sending})

    async def _probe(self) -> None:
        connections, endpoint = self._services.connections, self._endpoint
        try:
            if not connections.is_ready(endpoint):
                self._show_status("Starting the local model…")
            self._probing = Probing(connections, endpoint, self._model, on_request=self._show_request)
            await self._probing.run()
            self._end("Done")
        except asyncio.CancelledError:
            self._end("Stopped")
        except WorkbenchError as problem:
            self._end(f"✗ {problem.paragraph}")

    def _show_request(self, number: int, description: str) -> None:
        stop = f"{key_of(self.app, 'stop_probe')} stops and keeps what was found"
        self._show_status(f"▶ {number} of at most {MOST_REQUESTS}: {description} · {stop}")
        self._show()

    def _end(self, message: str) -> None:
        found = self._probing.found if self._probing is not None else None
        sent = f"{plural(found.requests, 'request')} sent" if found is not None else ""
        self._show_status(sentences(message, sent))
        self._probing = None
        if found is not None and found.findings:
            self._found = found.over(self._found)
            try:
                save_probe(self._services.folders, self._found)
            except StorageError as problem:
                self.notify(str(problem), title="Not saved", severity="error", timeout=10)

    # --- display -----------------------------------------------------------------------------------------

    def _show_status(self, status: str) -> None:
        if self.is_attached:
            self.query_one("#now", Static).update(Content(one_line(status, 400)))

    def _show(self) -> None:
        if not self.is_attached:
            return
        self.query_one(KeyRow).running = self.is_probing
        probe = self._probing.found if self._probing is not None else self._found
        findings = probe.findings if probe is not None else ()
        if findings[: len(self._shown)] != self._shown:
            self.table.clear()
            self._shown = ()
        for finding in findings[len(self._shown) :]:
            self.table.add_row(*(Text(part, style=_STYLES[finding.verdict]) for part in _cells(finding)))
        if self._probing is not None and len(findings) > len(self._shown):
            self.table.move_cursor(row=len(findings) - 1)
        self._shown = findings
        self._show_about(probe)
        self._show_evidence()

    def _show_about(self, probe: Probe | None) -> None:
        model = (probe.model if probe is not None else "") or self._model
        verdicts = [finding.verdict for finding in self._shown]
        counts = {verdict: verdicts.count(verdict) for verdict in ProbeVerdict}
        summary = " · ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
        if probe is not None and probe.is_partial and self._probing is None:
            summary += " · stopped"
        text = f"{one_line(self._endpoint.name, 40)}  {one_line(model)}"
        self.query_one(HeadingRow).show(text, summary)

    @on(DataTable.RowHighlighted)
    def _show_evidence(self) -> None:
        row = self.table.cursor_row
        evidence = ""
        if 0 <= row < len(self._shown):
            finding = self._shown[row]
            evidence = f"{finding.name} · {finding.verdict.value}: {finding.evidence}"
        self.query_one("#evidence", Static).update(Content(one_line(evidence, 400)))


def _cells(finding: Finding) -> tuple[str, str, str, str]:
    name, evidence = one_line(finding.name, 20), one_line(finding.evidence, 200)
    return finding.verdict.glyph, name, finding.verdict.value, evidence
