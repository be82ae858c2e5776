"""The endpoints screen, to choose, set up, test and delete endpoints."""

from __future__ import annotations

from functools import partial

from textual import getters, on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from workbench.domain.display import one_line, visible
from workbench.domain.endpoint import LOCAL, CommandKey, Endpoint, EnvironmentKey
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.runner.endpoint_test import ANNOUNCEMENT, Checked, check
from workbench.storage.endpoint_editing import save_endpoint, texts_of
from workbench.storage.endpoint_list import delete_endpoint, endpoint_for, profile_text, save_profile_text
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.external_editor import edited_text, with_editor
from workbench.tui.endpoints.endpoint_form import EndpointForm
from workbench.tui.flows import FlowContext, asks
from workbench.tui.popups.filtered_list import FilteredList
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.services import Services

_PLAIN = "openai-compatible"
"""The built-in profile without server-specific settings."""
_IN_HEAD = frozenset({"name", "title", "base_url", "note", "model", "key.environment", "key.command"})
"""Fields shown above the list of fields that differ from the defaults."""


class EndpointsScreen(ResultScreen[Endpoint]):
    """Lists the endpoints; returns the one to use, or None."""

    DEFAULT_CSS = """
    EndpointsScreen RowList { width: 2fr; }
    EndpointsScreen VerticalScroll { width: 3fr; }
    """
    BINDINGS = bindings_at(Where.ENDPOINTS)
    where = Where.ENDPOINTS

    listing = getters.query_one(FilteredList)

    def __init__(
        self, services: Services, current: Endpoint, model: str, previous: Endpoint | None = None
    ) -> None:
        """`current` and `model` are the endpoint and model in use.

        `previous` is the endpoint used before, which is highlighted first, so that one key returns to it.
        """
        super().__init__()
        self._services = services
        self._began = self._current = current
        self._model = model
        self._typed = {previous.name: previous} if previous is not None and "://" in previous.name else {}
        """The endpoint used before by its name, if it was typed as a URL."""
        is_there = previous is not None and self._endpoint(previous.name) == previous
        self._first = previous.name if previous is not None and is_there else current.name
        self._results: dict[str, Content] = {}
        """Results of tests, by endpoint."""

    def compose(self) -> ComposeResult:
        yield HeadingRow("Endpoints")
        yield FilteredList("type to find, or a base URL: https://host/v1", self._first)
        yield KeyRow(Where.ENDPOINTS)

    def on_mount(self) -> None:
        """Show all endpoints."""
        self._show()

    # --- the list ----------------------------------------------------------------------------------------

    def _endpoint(self, name: str) -> Endpoint | None:
        if name == self._current.name:
            return self._current
        return self._typed.get(name) or self._services.endpoints.endpoints.get(name)

    @on(Input.Changed)
    def _show(self) -> None:
        words = self.listing.filter.value.casefold().split()
        loaded = self._services.endpoints
        names = dict.fromkeys((*loaded.endpoints, *loaded.broken, self._current.name, *self._typed))
        # A URL is an endpoint of its own, without the key of a profile with the same URL.
        found = (name for name in names if all(word in self._text_of(name) for word in words))
        typed = self.listing.filter.value.strip().casefold()
        ranked = sorted(found, key=lambda name: (name != typed, not name.startswith(typed)) if typed else ())
        shown = [] if "://" in typed else ranked
        width = min(max(map(len, shown), default=0), 18)
        self.listing.show_rows({name: Option(self._row(name, width)) for name in shown}, first=bool(words))
        if not shown:
            self._show_details()

    def _text_of(self, name: str) -> str:
        endpoint = self._endpoint(name)
        return f"{name} {endpoint.title} {endpoint.base_url}".casefold() if endpoint else name.casefold()

    def _row(self, name: str, width: int) -> Content:
        endpoint = self._endpoint(name)
        mark, title = "● " if name == self._current.name else "  ", (one_line(name, 40).ljust(width), "bold")
        if endpoint is None:
            return Content.assemble(mark, title, ("  cannot be read", "$text-error"))
        return Content.assemble(mark, title, (f"  {one_line(endpoint.title, 40)}".rstrip(), "$text-muted"))

    @on(OptionList.OptionHighlighted)
    def _show_details(self) -> None:
        name = self.listing.highlighted
        if name is None:
            content = Content.styled(self._enter_hint(), "$text-muted")
        elif (endpoint := self._endpoint(name)) is None:
            problem = self._services.endpoints.broken[name]
            content = Content.assemble(
                (f"{one_line(name)}\n", "bold"), (visible(str(problem)), "$text-error")
            )
        else:
            content = self._details(endpoint)
        self.listing.show_details(content)

    def _enter_hint(self) -> str:
        """Describe what Enter does if no endpoint is listed."""
        typed = self.listing.filter.value.strip()
        if "://" not in typed:
            return "No matches. Type a base URL to use it: https://host/v1"
        endpoints = self._services.endpoints.endpoints.values()
        same = [endpoint.name for endpoint in endpoints if endpoint.base_url == typed]
        known = f" With its key: choose {one_line(', '.join(same))}." if same else ""
        return f"Enter uses this URL, without an API key.{known}"

    def _details(self, endpoint: Endpoint) -> Content:
        key = key_of(self.app, "test_endpoint")
        waiting = Content.styled(f"{key} tests it: {ANNOUNCEMENT}.", "$text-muted")
        note = f"\n{one_line(endpoint.note, 600)}" if endpoint.note else ""
        return Content.assemble(
            (one_line(endpoint.title or endpoint.name), "bold"),
            f"\n{_location(endpoint)}\n{_key_status(endpoint, self._services)}",
            f"\nmodel {one_line(endpoint.model)}" if endpoint.model else "",
            *("\n\n", self._results.get(endpoint.name, waiting), "\n"),
            "".join(f"\n{line}" for line in _set_fields(endpoint)),
            (f"{note}\n{self._source(endpoint.name)}", "$text-muted"),
        )

    def _source(self, name: str) -> str:
        """Describe where an endpoint is defined."""
        loaded = self._services.endpoints
        if name in loaded.own:
            return "your profile"
        return "a built-in profile" if name in loaded.shipped else "not saved as a profile"

    # --- choosing ----------------------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def _choose(self) -> None:
        name = self.listing.highlighted
        try:
            chosen = self._endpoint(name) if name is not None else None
            typed = self.listing.filter.value if name is None else name
            self.dismiss(chosen or endpoint_for(typed, None, self._services.endpoints))
        except BadValueError as problem:
            self.notify(str(problem), title="Endpoint", severity="error")

    def action_close(self) -> None:
        """Close, returning the endpoint in use if it was changed."""
        self.dismiss(self._current if self._current != self._began else None)

    # --- setting up --------------------------------------------------------------------------------------

    @asks
    async def action_add(self, flow: FlowContext) -> None:
        """Add an endpoint with settings copied from a built-in profile."""
        profiles = self._services.endpoints.shipped
        items = [Item(_PLAIN, "plain", "any server that speaks the OpenAI API")]
        items += [
            Item(profile.name, profile.name, profile.title)
            for profile in profiles.values()
            if profile.name not in (LOCAL, _PLAIN)
        ]
        name = await flow.ask(
            Picker("Copy settings from", items, note="type to filter · Enter choose · Esc close")
        )
        if name == _PLAIN:
            await self._edit(flow, "Add an endpoint", Endpoint("", ""))
        elif name is not None:
            profile = profiles[name]
            free = name not in self._services.endpoints.own
            initial = profile if free else Endpoint("", "", profile.title)
            await self._edit(flow, f"Add an endpoint like {name}", initial, like=name)

    @asks
    async def action_edit(self, flow: FlowContext) -> None:
        """Edit the endpoint; a built-in one is saved as the person's profile."""
        name = self.listing.highlighted
        if name is None:
            return
        if name == LOCAL:
            message = "The embedded model needs no setup: it runs on this machine."
            self.notify(message, title="Endpoint")
            return
        endpoint = self._endpoint(name)
        if endpoint is None:
            problem = self._services.endpoints.broken[name]
            key = key_of(self.app, "open_endpoint")
            message = f"{problem}\nEdit the file by hand ({key}), or delete it."
            self.notify(message, title="Endpoint")
        elif "://" in endpoint.name:
            initial = Endpoint("", endpoint.base_url, key=endpoint.key)
            await self._edit(flow, "Keep this address as an endpoint", initial)
        else:
            like = name if name in self._services.endpoints.shipped else ""
            await self._edit(flow, f"Edit {name}", endpoint, was=name, like=like)

    async def _edit(
        self, flow: FlowContext, title: str, endpoint: Endpoint, was: str = "", like: str = ""
    ) -> None:
        """Edit an endpoint in a form; `was` is its name so far, `like` the profile it is copied from."""
        folders, loaded = self._services.folders, self._services.endpoints
        save = partial(save_endpoint, folders, loaded=loaded, was=was, like=like)
        needs = "base_url" if was or like else "name"
        changed = await flow.ask(EndpointForm(title, endpoint, save, needs=needs))
        if changed is not None:
            if was == self._current.name:
                self._current = changed
            self._results.pop(changed.name, None)
            self._reload(changed.name)

    @asks
    async def action_open(self, flow: FlowContext) -> None:
        """Edit the endpoint's file in $EDITOR; a built-in one is saved as the person's profile."""
        name, services = self.listing.highlighted, self._services
        if name is None or "://" in name:
            self.action_edit()
            return
        environment = with_editor(services.environment, services.config.editor)
        try:
            text = profile_text(services.folders, name)
            async with edited_text(flow.app, text, environment, f"{name}.toml") as edited:
                if edited != text:
                    save_profile_text(services.folders, name, edited)
        except WorkbenchError as problem:
            flow.fail(problem, "Endpoint")
            return
        self._reload(name)
        if name == self._current.name:
            self._current = self._services.endpoints.endpoints.get(name, self._current)

    @asks
    async def action_delete(self, flow: FlowContext) -> None:
        """Delete one of the person's profiles, after a question."""
        name, loaded = self.listing.highlighted, self._services.endpoints
        if name is None:
            return
        if name not in loaded.own and name not in loaded.broken:
            flow.warn(f"Only your profiles can be deleted; this is {self._source(name)}.", "Endpoint")
            return
        shipped = loaded.shipped.get(name)
        if name == self._current.name and shipped is None:
            flow.warn("This endpoint is in use; switch to another first.", "Endpoint")
            return
        back = " The built-in profile of that name is used again." if shipped is not None else ""
        question = f"Delete the endpoint {one_line(name, 40)}?{back}"
        if not await flow.confirmed(question, "delete", "keep it"):
            return
        delete_endpoint(self._services.folders, name)
        if name == self._current.name and shipped is not None:
            self._current = shipped
        self._reload(name)

    def _reload(self, name: str) -> None:
        self._services.reload_endpoints()
        self.listing.wanted = name
        self.listing.filter.value = ""
        self._show()

    # --- testing -----------------------------------------------------------------------------------------

    def action_test(self) -> None:
        """Test the endpoint with a tiny request, and show the result in its details."""
        name = self.listing.highlighted
        if name is not None and (endpoint := self._endpoint(name)) is not None:
            self._test(endpoint)

    @work(exclusive=True, group="test")
    async def _test(self, endpoint: Endpoint) -> None:
        model = self._model if endpoint.name == self._current.name else ""
        on_step = partial(self._show_step, endpoint.name)
        checked = await check(self._services.connections, endpoint, model, on_step=on_step)
        self._results[endpoint.name] = _result(checked)
        self._show_details()

    def _show_step(self, name: str, step: str) -> None:
        self._results[name] = Content.styled(f"◌ {step}…", "$text-accent")
        self._show_details()


def _location(endpoint: Endpoint) -> str:
    if endpoint.name == LOCAL:
        return "on this machine"
    return one_line(endpoint.address) or "no base URL known"


def _key_status(endpoint: Endpoint, services: Services) -> str:
    """Describe where the API key comes from, and whether it is set; never the key itself."""
    match endpoint.key:
        case EnvironmentKey(variable):
            is_set = bool(services.environment.get(variable, "").strip())
            return f"key in {one_line(variable, 60)}, which is {'set' if is_set else 'not set'}"
        case CommandKey(argv):
            return f"key printed by {one_line(argv[0], 60)}"
        case None:
            return "no key"


def _set_fields(endpoint: Endpoint) -> list[str]:
    """Return the fields that differ from the defaults, one line each."""
    plain = texts_of(Endpoint(endpoint.name, ""))
    return [
        one_line(f"{name} = {text or 'none'}")
        for name, text in texts_of(endpoint).items()
        if name not in _IN_HEAD and text != plain[name]
    ]


def _result(checked: Checked) -> Content:
    first, *rest = checked.lines
    colour = "$text-success" if checked.is_good else "$text-error"
    models = "".join(f"\n  {one_line(name, 80)}" for name in checked.models[:200])
    return Content.assemble((first, colour), "".join(f"\n{line}" for line in rest), (models, "$text-muted"))
