"""What the main screen connects: the tokenizer, probes, offered endpoints, and what a person configured."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual import events
from textual.app import App

from tests.client.loopback import JSON, Received, answering, head, serving
from tests.tui.scripted import answer, until, workbench
from workbench.domain.colour_modes import Mode
from workbench.domain.endpoint import LOCAL
from workbench.domain.parameter_table import Range
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.prompt import PromptKind
from workbench.domain.session import Draft, Session
from workbench.storage.config import load_state
from workbench.storage.files import Folders
from workbench.storage.presets import load_presets
from workbench.storage.probes import save_probe
from workbench.storage.session_store import SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.workspace.first_draft import EXAMPLE, FIRST_DRAFT, first_draft
from workbench.workspace.services import Services


async def tokenizing(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer `/tokenize` with one token a word, and everything else with a short completion."""
    if received.path != "/tokenize":
        await answering(answer(" went", " in", "."))(received, writer)
        return
    texts = str(received.json["content"]).split()
    body = json.dumps({"tokens": [{"id": 7, "piece": text} for text in texts]}).encode()
    writer.write(head(content_type=JSON, length=len(body)) + body)
    await writer.drain()


def use_tokenizer(app: WorkbenchApp) -> None:
    """Let the draft's endpoint have a tokenizer."""
    app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(tokenizer=True))


def prompt_frame(app: WorkbenchApp) -> str:
    """What the prompt's frame says."""
    return str(app.main.prompt.border_subtitle)


def configure(text: str) -> Path:
    """Write the person's configuration."""
    path = Path(os.environ["WORKBENCH_HOME"]) / "config" / "config.toml"
    assert path == Folders.default(os.environ).config / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def toasts(app: WorkbenchApp) -> list[str]:
    """What the toasts say."""
    return [notification.message for notification in app._notifications]


async def test_the_prompt_is_counted_once_its_typing_pauses() -> None:
    async with workbench(tokenizing) as (app, pilot, loopback):
        use_tokenizer(app)
        for text in ("one", "one two", "one two three"):
            app.workspace.drafting.set_text(text)
            await pilot.pause()
        await until(pilot, lambda: "3 tok" in prompt_frame(app))
        counted = [request for request in loopback.requests if request.path == "/tokenize"]
        assert [str(request.json["content"]) for request in counted] == ["one two three"]


async def test_a_failing_tokenizer_leaves_no_count_and_no_message() -> None:
    async with workbench(answering(b"no", 500, JSON)) as (app, pilot, loopback):
        use_tokenizer(app)
        await until(pilot, lambda: len(loopback.requests) == 1)
        await pilot.pause(0.1)
        assert "tok" not in prompt_frame(app)
        assert toasts(app) == []


async def test_token_ids_are_never_sent_to_the_tokenizer() -> None:
    async with workbench(tokenizing) as (app, pilot, loopback):
        app.workspace.drafting.set_kind(PromptKind.TOKENS)
        app.workspace.drafting.set_text("1, 2")
        use_tokenizer(app)
        await until(pilot, lambda: "2 tok" in prompt_frame(app))
        assert "/tokenize" not in [request.path for request in loopback.requests]


async def test_the_local_model_is_not_started_to_count() -> None:
    async with workbench(tokenizing) as (app, pilot, loopback):
        app.workspace.drafting.use_endpoint(app.services.endpoints.endpoints[LOCAL])
        await pilot.pause(0.7)
        assert not app.services.connections.is_ready(app.workspace.drafting.endpoint)
        assert loopback.requests == []


async def test_a_bias_by_text_becomes_one_by_id() -> None:
    async with workbench(tokenizing) as (app, pilot, _):
        use_tokenizer(app)
        app.main.parameters.go_to("logit_bias")
        app.main.set_focus(app.main.parameters)
        app.main.parameters.action_edit('" door"=5')
        app.main.parameters._take()
        await until(pilot, lambda: app.main.parameters._editing is None)
        assert app.main.parameters.parameters.get("logit_bias") == {"7": 5}


async def test_what_a_probe_found_is_noted_and_limits_follow_the_endpoint() -> None:
    finding = Finding("min_p", ProbeVerdict.NO_EFFECT, "same answer")
    save_probe(Folders.default(os.environ), Probe("other", "", datetime.now(UTC), 1, (finding,)))
    async with workbench(tokenizing) as (app, pilot, _):
        limits = {"temperature": Range(0, 1)}
        app.workspace.drafting.use_endpoint(
            app.workspace.drafting.endpoint._replace(name="other", limits=limits)
        )
        assert app.main.parameters.limits == limits
        notes = {"min_p": "has no effect at this endpoint: same answer"}
        await until(pilot, lambda: app.main.parameters.notes == notes)
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(name="third", limits={}))
        await until(pilot, lambda: app.main.parameters.notes == {})


async def test_an_endpoint_whose_key_is_set_is_offered_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIEKOU_API_KEY", "secret")
    async with workbench(tokenizing) as (app, _, loopback):
        assert toasts(app) == ["JIEKOU_API_KEY is set: choose jiekou with Ctrl+T"]
        assert app.workspace.drafting.endpoint.base_url == loopback.base_url


async def test_two_keys_are_offered_at_once_and_not_again_to_who_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JIEKOU_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with workbench(tokenizing) as (app, pilot, _):
        both = "JIEKOU_API_KEY and OPENAI_API_KEY are set: choose jiekou or openai with Ctrl+T"
        assert toasts(app) == [both]
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
    async with workbench(tokenizing) as (app, _, _):
        assert not any("choose" in toast for toast in toasts(app))


async def test_nothing_is_offered_to_who_configured_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIEKOU_API_KEY", "secret")
    configure("confirm_above = 1000\n")
    async with workbench(tokenizing) as (app, _, _):
        assert toasts(app) == []


async def test_the_colours_begin_as_configured_and_as_last_picked() -> None:
    async with workbench(tokenizing) as (app, pilot, _):
        assert app.main.output.view.mode is Mode.FITTED
        await pilot.press("f4", "c")
        await until(pilot, lambda: load_state(app.services.folders).colour_by == "continuous")
    async with workbench(tokenizing) as (app, _, _):
        assert app.main.output.view.mode is app.main.legend.mode is Mode.CONTINUOUS
    configure('colour_by = "rank"\n')
    async with workbench(tokenizing) as (app, _, _):
        assert app.main.output.view.mode is app.main.legend.mode is Mode.RANK


async def test_a_new_draft_begins_with_the_configured_preset_s_parameters() -> None:
    configure('preset = "creative"\n')
    async with workbench(tokenizing) as (app, _, loopback):
        assert app.workspace.drafting.draft.preset == "creative"
        assert app.main.parameters.parameters.get("temperature") == 1.2
        assert app.main.parameters.parameters.get("max_tokens") == FIRST_DRAFT["max_tokens"]
        assert app.workspace.drafting.endpoint.base_url == loopback.base_url


async def test_a_preset_that_is_not_there_is_told_with_the_nearest_one() -> None:
    configure('preset = "creativ"\n')
    async with workbench(tokenizing) as (app, _, _):
        assert app.workspace.drafting.draft.preset == ""
        assert toasts(app) == ["There is no preset named 'creativ'\nDid you mean creative?"]


@pytest.mark.parametrize("name", ["greedy", "my hot one"])
async def test_a_configured_preset_with_a_mistake_is_told_with_its_line_and_never_replaced(name: str) -> None:
    path = configure(f'preset = "{name}"\n').parent / "presets" / "greedy.toml"
    path.parent.mkdir()
    path.write_text('name = "my hot one"\n[parameters]\ntemperature = "hot"\n')
    async with workbench(tokenizing) as (app, _, _):
        assert app.workspace.drafting.draft.preset == ""
        (toast,) = toasts(app)
        assert toast.startswith("greedy.toml, line 3: parameters.temperature")
        assert "finite number" in toast


async def test_a_configured_theme_that_is_not_there_is_told_with_the_nearest_one() -> None:
    configure('theme = "drak"\n')
    async with workbench(tokenizing) as (app, _, _):
        assert toasts(app) == ["There is no theme named 'drak'\nKnown: dark"]


async def test_a_configured_theme_with_a_mistake_is_told_once_with_its_line() -> None:
    path = configure('theme = "mine"\n').parent / "themes" / "mine.toml"
    path.parent.mkdir()
    path.write_text('primary = "#333"\nbackground = "#000"\nforeground = "loud"\n')
    async with workbench(tokenizing) as (app, _, _):
        (toast,) = toasts(app)
        assert toast.startswith("mine.toml, line 3: foreground is not a colour")


@pytest.mark.parametrize("has_session", [False, True])
async def test_what_is_typed_before_there_is_a_screen_is_done_once_there_is_one(
    has_session: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    store = SessionStore.create(path, Session(draft=Draft(prompt="kept")))
    store.save()
    store.close()
    async with serving(answering(answer(" in"))) as loopback:
        app = WorkbenchApp(Services.open(dict(os.environ), loopback.base_url), path if has_session else None)
        for key, character in (("!", "!"), ("ctrl+j", None), ("f4", None)):
            app.post_message(events.Key(key, character))
        async with app.run_test() as pilot:
            prompt = "kept!" if has_session else f"{EXAMPLE}!"
            await until(pilot, lambda: app.main.prompt.text == prompt and len(loopback.requests) == 1)
            await until(pilot, lambda: app.main.focused is app.main.output.view)
            assert loopback.requests[0].json["prompt"] == prompt
            await app.leave()


async def test_a_further_session_begins_as_configured() -> None:
    configure('preset = "creative"\n')
    async with workbench(tokenizing) as (app, pilot, _):
        app.workspace.drafting.use_endpoint(app.services.endpoints.endpoints[LOCAL])
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).presets["greedy"])
        await pilot.press("ctrl+n")
        await until(pilot, lambda: app.workspace.drafting.draft.preset == "creative")
        assert app.workspace.drafting.draft.prompt == ""
        assert app.main.parameters.parameters.get("temperature") == 1.2
        assert app.workspace.drafting.endpoint is app.services.endpoint


async def test_a_further_session_begins_anew_where_nothing_is_configured_and_stays_at_its_endpoint() -> None:
    async with workbench(tokenizing) as (app, pilot, _):
        endpoint = app.workspace.drafting.endpoint
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).presets["greedy"])
        app.workspace.drafting.set_kind(PromptKind.TEXTS)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: app.workspace.drafting.draft.prompt == "")
        assert app.workspace.drafting.draft == first_draft(None)._replace(endpoint=endpoint.name)
        assert app.main.parameters.parameters == Parameters(FIRST_DRAFT)


async def test_the_draft_keeps_its_preset_over_the_next_start() -> None:
    async with workbench(tokenizing) as (app, pilot, _):
        app.workspace.drafting.apply_preset(load_presets(app.services.folders).presets["precise"])
        app.main.parameters.go_to("temperature")
        app.main.set_focus(app.main.parameters)
        await pilot.press("plus")
        changed = app.main.parameters.parameters
        assert app.workspace.drafting.draft.preset == "precise"
    async with workbench(tokenizing) as (app, pilot, _):
        await until(pilot, lambda: app.workspace.drafting.draft.preset == "precise")
        assert app.main.parameters.parameters == changed
        preset = app.workspace.drafting.preset
        assert preset is not None
        assert preset.difference(changed).startswith("temperature ")


async def test_a_draft_whose_preset_was_deleted_keeps_its_name_and_its_values() -> None:
    async with workbench(tokenizing) as (app, _, _):
        draft = app.workspace.drafting.draft._replace(preset="gone", parameters=Parameters({"top_k": 3}))
        app.workspace.drafting.use(draft)
        assert app.workspace.drafting.draft == draft


async def test_a_toast_that_comes_while_an_editor_has_the_terminal_is_shown_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with workbench(tokenizing) as (app, pilot, _):
        monkeypatch.setattr(App, "suspend", lambda app: nullcontext())
        with app.suspend():
            app.notify("the disk is full")
            await pilot.pause()
            assert toasts(app) == []
        await until(pilot, lambda: toasts(app) == ["the disk is full"])
