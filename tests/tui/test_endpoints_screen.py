"""Setting up, testing, choosing and removing endpoints without leaving the terminal."""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.client.loopback import JSON, Received, answering, head
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.endpoint import Endpoint, EnvironmentKey
from workbench.storage.endpoint_list import endpoints_folder, load_endpoints
from workbench.storage.files import Folders
from workbench.tui.app import WorkbenchApp
from workbench.tui.endpoints.endpoint_form import EndpointForm
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import Question

KEY = "sk-proj-Zq81mVt50aLw"


async def models_and_answers(received: Received, writer: asyncio.StreamWriter) -> None:
    """List two models, and complete with one token."""
    if received.method == "GET":
        await answering(b'{"data":[{"id":"first/model"},{"id":"second/model"}]}', content_type=JSON)(
            received, writer
        )
    else:
        writer.write(head() + answer(" there"))
        await writer.drain()


def write(name: str, text: str) -> Path:
    """A person's profile."""
    path = endpoints_folder(Folders.default(os.environ)) / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def opened(app: WorkbenchApp, pilot: Pilot[int]) -> EndpointsScreen:
    """The endpoints screen."""
    await pilot.press("ctrl+t")
    await until(
        pilot, lambda: isinstance(app.screen, EndpointsScreen) and app.screen.listing.options.option_count > 0
    )
    assert isinstance(app.screen, EndpointsScreen)
    return app.screen


async def form(app: WorkbenchApp, pilot: Pilot[int]) -> EndpointForm:
    """The form, once it has the focus."""
    await until(pilot, lambda: isinstance(app.screen, EndpointForm) and app.screen.focused is not None)
    assert isinstance(app.screen, EndpointForm)
    return app.screen


def field(screen: EndpointForm, name: str) -> Input:
    """The input of a field."""
    return next(entry for entry in screen.query(Input) if entry.name == name)


def wrong(screen: EndpointForm) -> dict[str, str]:
    """What is said to be wrong, by field."""
    shown = screen.query(".wrong.-shown").results(Static)
    return {label.name or "": str(label.render()) for label in shown}


def details(screen: EndpointsScreen) -> str:
    """What is said of the endpoint looked at."""
    return str(screen.query_one("#details", Static).render())


def everything_written() -> bytes:
    """The bytes of all files that the workbench wrote."""
    home = Path(os.environ["WORKBENCH_HOME"])
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


async def test_an_endpoint_is_added_like_a_profile_tested_and_used() -> None:
    async with workbench(models_and_answers) as (app, pilot, loopback):
        screen = await opened(app, pilot)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press(*"vllm", "enter")
        filling = await form(app, pilot)
        assert filling.focused is field(filling, "base_url")
        field(filling, "name").value = "mine"
        field(filling, "base_url").value = loopback.base_url
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen and screen.listing.highlighted == "mine")
        path = endpoints_folder(app.services.folders) / "mine.toml"
        assert path.read_text() == f'like = "vllm"\nbase_url = "{loopback.base_url}"\n'
        assert "one token" in details(screen)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "answered “there”" in details(screen))
        assert "2 models listed\n  first/model\n  second/model" in details(screen)
        sent = loopback.requests[-1].json
        assert (sent["model"], sent["max_tokens"]) == ("first/model", 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.workspace.drafting.endpoint.name == "mine")
        assert (
            app.workspace.drafting.endpoint.limits
            == load_endpoints(app.services.folders).shipped["vllm"].limits
        )


async def test_what_is_wrong_stands_below_its_field_and_what_was_typed_stays() -> None:
    async with workbench(models_and_answers) as (app, pilot, _):
        screen = await opened(app, pilot)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        filling = await form(app, pilot)
        field(filling, "name").value = "mine"
        field(filling, "base_url").value = "host"
        field(filling, "headers").value = "X-Title: [bold]"
        for name, text, expected in [
            ("concurrency", "many", "whole number"),
            ("base_url", "host", "an address"),
            ("headers", "Cookie: a", "would hold a key"),
        ]:
            before = field(filling, name).value
            field(filling, name).value = text
            await pilot.press("ctrl+s")
            await until(pilot, lambda: bool(wrong(filling)))
            assert list(wrong(filling)) == [name]
            assert expected in wrong(filling)[name]
            assert filling.focused is field(filling, name)
            assert field(filling, "name").value == "mine"
            assert app.screen is filling
            field(filling, name).value = "https://h/v1" if name == "base_url" else before
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen)
        assert app.services.endpoints.endpoints["mine"].headers == {"X-Title": "[bold]"}


async def test_a_key_pasted_for_its_variable_s_name_is_taken_out_at_once_and_never_written() -> None:
    async with workbench(models_and_answers) as (app, pilot, loopback):
        await opened(app, pilot)
        app.screen.query_one(Input).value = "openai"
        await pilot.press("enter")
        await until(pilot, lambda: app.workspace.drafting.endpoint.name == "openai")
        # The list begins at the endpoint used before, so that Enter goes back to it.
        screen = await opened(app, pilot)
        assert screen.listing.highlighted == loopback.base_url
        await pilot.press(*"openai")
        await until(pilot, lambda: screen.listing.highlighted == "openai")
        await pilot.press("ctrl+e")
        filling = await form(app, pilot)
        field(filling, "key.environment").value = KEY
        await until(pilot, lambda: field(filling, "key.environment").value == "")
        assert "environment variable (export MY_KEY=…" in wrong(filling)["key.environment"]
        field(filling, "key.command").value = f"echo {KEY}"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "key.command" in wrong(filling))
        assert app.screen is filling
        field(filling, "key.command").value = ""
        field(filling, "key.environment").value = "MY_OPENAI"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is screen)
        assert "key in MY_OPENAI, which is not set" in details(screen)
        await pilot.press("escape")
        await until(pilot, lambda: app.workspace.drafting.endpoint.key == EnvironmentKey("MY_OPENAI"))
        assert b"MY_OPENAI" in everything_written()
        assert KEY.encode() not in everything_written()


async def test_editing_keeps_the_file_s_comments_and_deleting_asks() -> None:
    text = '# mine\nbase_url = "http://127.0.0.1:9/v1" # near\nconcurrency = 2\n'
    path = write("box", text)
    async with workbench(models_and_answers) as (app, pilot, _):
        screen = await opened(app, pilot)
        await pilot.press(*"box", "ctrl+e")
        filling = await form(app, pilot)
        await pilot.press("down", "down")
        await until(pilot, lambda: filling.focused is field(filling, "title"))
        await pilot.press("up", "shift+tab")
        await until(pilot, lambda: filling.focused is field(filling, "base_url"))
        field(filling, "concurrency").value = "6"
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.screen is screen)
        assert path.read_text() == text.replace("concurrency = 2", "concurrency = 6")
        assert screen.listing.highlighted == "box"
        await pilot.press("ctrl+x")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is screen)
        assert path.exists()
        await pilot.press("ctrl+x", "y")
        await until(pilot, lambda: not path.exists() and "box" not in screen.listing.values)
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "Only your profiles" in str(toasts(app)))


async def test_a_broken_profile_is_listed_with_its_line_and_can_only_be_deleted() -> None:
    path = write("bad", 'base_url = "http://h/v1"\nmodle = "[x]"\n')
    async with workbench(models_and_answers) as (app, pilot, loopback):
        screen = await opened(app, pilot)
        await pilot.press(*"bad")
        assert "bad.toml, line 2: modle is not a known key" in details(screen)
        await pilot.press("enter")
        await pilot.press("ctrl+e")
        await until(pilot, lambda: "by hand" in str(toasts(app)))
        assert app.screen is screen
        assert app.workspace.drafting.endpoint.base_url == loopback.base_url
        await pilot.press("ctrl+x", "y")
        await until(pilot, lambda: not path.exists())


@pytest.mark.parametrize("name", ["bad", "vllm"])
async def test_the_file_is_edited_in_the_person_s_editor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("bad", 'base_url = "http://h/v1"\nmodle = "x" # mine\n')
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/modle/model/; s/lenient = true/concurrency = 7/" "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(WorkbenchApp, "suspend", lambda _: nullcontext())
    async with workbench(models_and_answers) as (app, pilot, _):
        screen = await opened(app, pilot)
        await pilot.press(*name, "ctrl+o")
        await until(pilot, lambda: name in app.services.endpoints.own and screen.listing.highlighted == name)
        assert toasts(app) == [] or "bad.toml" in toasts(app)[0]
    endpoint = load_endpoints(Folders.default(os.environ)).endpoints[name]
    if name == "bad":
        assert endpoint.model == "x"
        assert path.read_text() == 'base_url = "http://h/v1"\nmodel = "x" # mine\n'
    else:
        assert (endpoint.concurrency, endpoint.lenient) == (7, False)


async def test_what_the_editor_wrote_is_kept_with_its_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("box", 'base_url = "http://h/v1"\n')
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "retries = -1" >> "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr(WorkbenchApp, "suspend", lambda _: nullcontext())
    async with workbench(models_and_answers) as (app, pilot, _):
        screen = await opened(app, pilot)
        await pilot.press(*"box", "ctrl+o")
        await until(pilot, lambda: "must be a whole number, at least 0 (got -1)" in details(screen))
        assert "box.toml, line 2: retries" in details(screen)
    assert path.read_text() == 'base_url = "http://h/v1"\nretries = -1\n'


async def test_a_test_that_fails_says_why_in_place_and_a_typed_address_goes_without_a_key() -> None:
    refused = answering(b'{"error":{"message":"bad [/x] \\u001b[2Jkey"}}', 401, JSON)
    async with workbench(refused) as (app, pilot, loopback):
        screen = await opened(app, pilot)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "✗ The API key was refused (HTTP 401)" in details(screen))
        assert "bad [/x] \\e[2Jkey" in details(screen)
        assert len(loopback.requests) == 2
        screen.listing.filter.value = "https://api.openai.com/v1"
        await until(pilot, lambda: not screen.listing.values)
        assert "without an API key" in details(screen)
        assert "choose openai" in details(screen)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.main)
        assert app.workspace.drafting.endpoint == Endpoint(
            "https://api.openai.com/v1", "https://api.openai.com/v1"
        )


async def test_where_an_endpoint_is_from_and_leads_is_said_of_a_typed_url_and_of_a_missing_profile() -> None:
    async with workbench(models_and_answers) as (app, pilot, loopback):
        screen = await opened(app, pilot)
        details = screen.query_one("#details", Static)
        assert screen.listing.highlighted == app.workspace.drafting.endpoint.name
        shown = str(details.render())
        assert loopback.base_url in shown
        assert "not saved as a profile" in shown
        assert "built-in" not in shown
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "this is not saved as a profile" in "".join(toasts(app)))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        app.workspace.drafting.use_endpoint(Endpoint("elsewhere", ""))
        screen = await opened(app, pilot)
        assert "no base URL known" in str(screen.query_one("#details", Static).render())


async def test_the_details_of_another_endpoint_are_shown_from_the_top() -> None:
    for name in ("box1", "box2"):
        write(name, f'base_url = "http://127.0.0.1:9/v1"\nnote = "{"long note " * 60}"\n')
    async with workbench(answering(b""), (80, 16)) as (app, pilot, _):
        screen = await opened(app, pilot)
        details = screen.query_one(VerticalScroll)
        await pilot.press(*"box")
        await until(pilot, lambda: details.max_scroll_y > 2)
        details.scroll_to(y=2, animate=False, force=True)
        await until(pilot, lambda: details.scroll_y == 2)
        await pilot.press("down")
        await until(pilot, lambda: details.scroll_y == 0)
