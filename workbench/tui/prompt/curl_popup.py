"""Taking prompt and parameters from a curl command: pasted into its popup, or into the prompt."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Label

from workbench.domain.display import one_line
from workbench.domain.errors import WorkbenchError
from workbench.runner.draft_from_curl import CurlDraft, draft_from_curl
from workbench.storage.endpoint_list import EndpointList
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.exact_text_area import ExactTextArea
from workbench.tui.popups.picker import Box, Popup


class CurlPopup(Popup[CurlDraft]):
    """Returns what the command pasted would send, or None; what cannot be read is shown below it."""

    DEFAULT_CSS = """
    CurlPopup > Box { max-width: 100; }
    CurlPopup ExactTextArea { height: 12; border: none; padding: 0; background: $panel; }
    CurlPopup #wrong { color: $text-error; width: 100%; }
    """
    BINDINGS = bindings_at(Where.CURL)
    where = Where.CURL

    def __init__(self, endpoints: EndpointList, text: str = "") -> None:
        super().__init__()
        self._endpoints = endpoints
        self._text = text

    def compose(self) -> ComposeResult:
        with Box("Paste a curl command", "Ctrl+J import prompt and parameters · Esc cancel"):
            yield ExactTextArea(self._text, soft_wrap=True, compact=True)
            yield Label(id="wrong")

    def action_take(self) -> None:
        """Take the command over, or say what is wrong with it."""
        try:
            taken = draft_from_curl(self.query_one(ExactTextArea).text, self._endpoints)
        except WorkbenchError as problem:
            message = " ".join(filter(None, (problem.title, problem.message, problem.hint)))
            self.query_one("#wrong", Label).update(Content(one_line(message, 300)))
            return
        self.dismiss(taken)
