"""The form of an endpoint: its fields, the help of the focused one, and errors below the fields."""

from __future__ import annotations

from collections.abc import Callable

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, StorageError
from workbench.storage.endpoint_editing import ENDPOINT_FIELDS, field_of, looks_like_key, texts_of, with_texts
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import LineInput
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.popup import Popup

_HEADINGS = {
    "name": "Where",
    "key.environment": "API key",
    "aliases": "Parameters",
    "headers": "Requests",
    "proxy": "Network",
    "prices.prompt": "Prices",
    "single_prompt": "Behaviour",
}
"""Headings, by the field below them."""


class EndpointForm(Popup[Endpoint]):
    """Edits an endpoint; returns it once saved, or None. Invalid values stay in their fields."""

    DEFAULT_CSS = """
    EndpointForm { layout: vertical; background: $background; }
    EndpointForm VerticalScroll { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    EndpointForm .group { text-style: bold; color: $text-accent; margin-top: 1; }
    EndpointForm .row { height: 1; }
    EndpointForm .row Label { width: 21; color: $text-muted; }
    EndpointForm Input, EndpointForm Input:focus { border: none; height: 1; padding: 0 1; }
    EndpointForm Input { background: $panel; }
    EndpointForm Input:focus { background: $boost; }
    EndpointForm .wrong { display: none; height: auto; padding-left: 21; color: $text-error; }
    EndpointForm .wrong.-shown { display: block; }
    EndpointForm #help { height: 1; padding: 0 1; color: $text-muted; }
    """
    BINDINGS = bindings_at(Where.ENDPOINT_FORM)
    where = Where.ENDPOINT_FORM

    def __init__(
        self, title: str, endpoint: Endpoint, save: Callable[[Endpoint], object], *, needs: str
    ) -> None:
        """`save` writes the endpoint, or raises StorageError; `needs` is the field to focus first."""
        super().__init__()
        self._title = title
        self._endpoint = endpoint
        self._save = save
        self._first = needs
        self._inputs = {name: LineInput(text, name=name) for name, text in texts_of(endpoint).items()}
        self._wrong = {name: Static(classes="wrong", name=name) for name in self._inputs}
        self._refused: dict[str, str] = {}
        """Values that were refused, by field."""

    def compose(self) -> ComposeResult:
        yield HeadingRow(one_line(self._title))
        with VerticalScroll(can_focus=False):
            for field in ENDPOINT_FIELDS:
                if heading := _HEADINGS.get(field.name):
                    yield Static(Content(heading), classes="group")
                with Horizontal(classes="row"):
                    yield Label(Content(field.name))
                    yield self._inputs[field.name]
                yield self._wrong[field.name]
        yield Static(id="help")
        yield KeyRow(Where.ENDPOINT_FORM)

    def on_mount(self) -> None:
        """Focus the field that needs a value."""
        self._inputs[self._first].focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the help of the field."""
        name = event.widget.name
        help = next((field.help for field in ENDPOINT_FIELDS if field.name == name), "")
        self.query_one("#help", Static).update(Content(help))

    @on(Input.Changed)
    def _refuse_key(self, event: Input.Changed) -> None:
        """Clear a key pasted instead of its variable's name; else hide the error of a value that changed."""
        name = event.input.name or ""
        if name == "key.environment" and looks_like_key(event.value.strip()):
            try:
                with_texts(Endpoint("", ""), {name: event.value})
            except BadValueError as problem:
                event.input.value = ""
                self._show_problem(name, problem)
        elif event.value != self._refused.get(name, event.value):
            self._wrong[name].remove_class("-shown")

    def _show_problem(self, name: str, problem: BadValueError | StorageError) -> None:
        """Show an error below its field, or below the first if it names none, and focus the field."""
        at = field_of(name) or "name"
        self._refused[at] = self._inputs[at].value
        self._wrong[at].update(Content(one_line(f"✗ {problem}", 400)))
        self._wrong[at].add_class("-shown")
        self._inputs[at].focus()

    @on(Input.Submitted)
    def _go_on(self) -> None:
        self.app.action_focus_next()

    def action_save(self) -> None:
        """Save the endpoint and close, or show the error."""
        texts = {name: entry.value for name, entry in self._inputs.items()}
        for label in self._wrong.values():
            label.remove_class("-shown")
        try:
            endpoint = with_texts(self._endpoint, texts)
            self._save(endpoint)
        except BadValueError as problem:
            self._show_problem(problem.field, problem)
        except StorageError as problem:
            self._show_problem(problem.key, problem)
        else:
            self.dismiss(endpoint)
