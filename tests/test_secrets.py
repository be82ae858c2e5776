"""A key placed in the environment is found nowhere after a session of successes and failures."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from textual.pilot import Pilot

from tests.cli.in_process import serving_beside
from tests.client.loopback import (
    DONE,
    JSON,
    Handler,
    answering,
    event,
    hanging,
    head,
    in_turn,
    serving,
)
from tests.tui.scripted import answer, until
from workbench.cli import main
from workbench.domain.run import Run
from workbench.storage.endpoint_list import endpoints_folder
from workbench.storage.files import Folders
from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services

KEY = "sk_Rk93QvZ7xWq2mT41"
VARIABLE = "SECRET_SEARCH_KEY"
_JSON_ERROR = json.dumps({"error": {"message": f"Incorrect API key {KEY} given", "code": KEY, "type": KEY}})
_TRACEBACK = f"""Traceback (most recent call last):
  File "server.py", line 1, in complete
    raise ValueError(headers["authorization"])
ValueError: Bearer {KEY}"""
_ECHOED = (f"X-Request-Id: {KEY}", f"WWW-Authenticate: Bearer {KEY}")

FAILURES: dict[str, Handler] = {
    "refused in JSON": answering(_JSON_ERROR.encode(), 401, JSON, _ECHOED),
    "a list of complaints": answering(
        json.dumps({"detail": [{"loc": ["header", KEY], "msg": f"{KEY} is bad"}]}).encode(), 422, JSON
    ),
    "a traceback": answering(_TRACEBACK.encode(), 500, "text/plain"),
    "a proxy's page": answering(f"<html><h1>502</h1>{KEY}<b>x</b></html>".encode(), 502, "text/html"),
    "sent elsewhere": answering(b"", 302, JSON, [f"Location: https://elsewhere/{KEY}?key={KEY}"]),
    "no JSON": answering(f'data: {{"choices": [{{"text": "{KEY}\n\ndata: [DONE]\n\n'.encode()),
    "no completion": answering(json.dumps({"key": KEY, "choices": 3}).encode(), 200, JSON),
    "a page": answering(f"<!doctype html><title>{KEY}</title>".encode(), 200, "text/html"),
    "an error in the stream": answering(
        f": waiting, {KEY}\n\n".encode()
        + event("so far")
        + f'data: {{"error": {{"message": "lost {KEY}", "code": "{KEY}"}}}}\n\n'.encode()
    ),
    "an error field": answering(f"error: {_JSON_ERROR}\n\n".encode()),
    "names that hold it": answering(
        event("text", finish_reason=f"stop {KEY}", id=f"id-{KEY}", model=f"model-{KEY}") + DONE
    ),
    "no answer": answering(b""),
    "a broken head": lambda _, writer: _write(writer, f"{KEY} HTTP {KEY}\r\n\r\n".encode()),
    "a broken length": lambda _, writer: _write(writer, head(length=10**6) + f"data: {KEY}".encode()),
}


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


def endpoints(base_url: str) -> None:
    """Profiles with the key in a variable, and by commands that fail or complain."""
    folder = endpoints_folder(Folders.default(os.environ))
    folder.mkdir(parents=True, exist_ok=True)
    complaining = f'echo "vault says ${VARIABLE}" >&2; exit 1'
    printing = f'echo "${VARIABLE} x"'
    keys = {
        "keyed": f'environment = "{VARIABLE}"',
        "gone": f'environment = "{VARIABLE}"',
        "complaining": f"command = {json.dumps(['sh', '-c', complaining])}",
        "printing": f"command = {json.dumps(['sh', '-c', printing])}",
    }
    for name, key in keys.items():
        url = "http://127.0.0.1:1/v1" if name == "gone" else base_url
        text = f'base_url = "{url}"\nretries = 0\n\n[key]\n{key}\n'
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def holders() -> list[str]:
    """The lines of files below the test's folders that hold the key."""
    home = Path(os.environ["WORKBENCH_HOME"])
    return [
        f"{path.name}: {line!r}"
        for path in home.rglob("*")
        if path.is_file()
        for line in path.read_bytes().splitlines()
        if KEY.encode() in line
    ]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    caplog.set_level(logging.INFO)


def test_nothing_that_a_command_prints_or_writes_holds_the_key(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    session = Path(os.environ["WORKBENCH_HOME"]) / "session.toml"
    replies = [answering(answer(" in", " the")), *FAILURES.values()]
    with serving_beside(in_turn(*replies)) as loopback:
        endpoints(loopback.base_url)
        for _ in replies:
            main(["run", "--prompt", "Hi", "--endpoint", "keyed", "--session", str(session), "--json"])
        assert {request.headers["authorization"] for request in loopback.requests} == {f"Bearer {KEY}"}
        for name in ("gone", "complaining", "printing"):
            assert main(["run", "--prompt", "Hi", "--endpoint", name, "--session", str(session)]) == 1
        assert len(loopback.requests) == len(replies)
    with serving_beside(FAILURES["refused in JSON"]) as loopback:
        endpoints(loopback.base_url)
        assert main(["probe", "keyed"]) == 1
        assert main(["replay", str(session), "--check", "--json", "--endpoint", "keyed"]) == 1
    for form in ("markdown", "jsonl", "html", "text"):
        assert main(["export", str(session), "--to", form]) == 0
    first = next(line for line in session.read_text().splitlines() if line.startswith("id = "))
    for form in ("svg", "curl", "python"):
        newest = [
            line for line in session.read_text().split("[[runs]]")[1].splitlines() if line.startswith("id")
        ]
        assert main(["export", str(session), "--to", form, "--run", json.loads(newest[0][5:])]) == 0
    assert first
    printed = capfd.readouterr()
    assert "•••" in printed.out, "the endpoint's words are told, without the key"
    assert KEY not in printed.out
    assert KEY not in printed.err
    assert KEY not in caplog.text
    assert holders() == []


async def opened(size: tuple[int, int] = (120, 40)) -> WorkbenchApp:
    return WorkbenchApp(Services.open(dict(os.environ), "keyed"))


async def test_nothing_on_the_screen_or_behind_it_holds_the_key(caplog: pytest.LogCaptureFixture) -> None:
    pictures: list[str] = []
    partial = hanging(head() + f": {KEY}\n\n".encode() + event("so far"))
    replies = [answering(answer(" in", " the")), *FAILURES.values(), partial]
    async with serving(in_turn(*replies)) as loopback:
        endpoints(loopback.base_url)
        app = await opened()
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.screen is app.main and app.main.focused is not None)
            for number, _ in enumerate(replies[:-1]):
                await run_to_its_end(app, pilot)
                pictures.append(shown(app))
                if number in (1, 3, 6, 11):
                    pictures += await exchange(app, pilot)
            await pilot.press("f5")
            await until(pilot, lambda: app.main.output.runs[-1].tokens > 0)
            app.main.keep()
            await app.workspace.keeper.settle()
            assert holders() == []
            pictures.append(app.export_screenshot().replace("&#160;", " "))
            await pilot.press("escape")
            for name in ("gone", "complaining", "printing"):
                app.workspace.drafting.use_endpoint(Services.open(dict(os.environ), name).endpoint)
                await run_to_its_end(app, pilot)
                pictures.append(shown(app))
            await app.leave()
    assert not [index for index, picture in enumerate(pictures) if KEY in picture]
    assert KEY not in caplog.text
    assert holders() == []


def shown(app: WorkbenchApp) -> str:
    """The screen's text."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def exchange(app: WorkbenchApp, pilot: Pilot[int]) -> list[str]:
    """The last exchange as the screen shows it, raw."""
    app.main.do("wire")
    await until(pilot, lambda: app.screen is not app.main)
    await pilot.pause()
    picture = shown(app)
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.main)
    return [picture]


async def run_to_its_end(app: WorkbenchApp, pilot: Pilot[int]) -> Run:
    """Send the draft and wait for its end."""
    before = len(app.main.output.runs)
    await pilot.press("f5")
    await until(pilot, lambda: len(app.main.output.runs) > before and not app.workspace.runs.is_streaming)
    await pilot.pause()
    return app.main.output.runs[-1]


async def test_a_crash_of_the_screen_tells_no_values() -> None:
    async with serving(answering(answer(" in"))) as loopback:
        endpoints(loopback.base_url)
        app = await opened()
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.screen is app.main)
            try:
                _fail(app.services.environment, f"Bearer {KEY}")
            except RuntimeError:
                app._fatal_error()
            printed = StringIO()
            Console(file=printed, width=200).print(*app._exit_renderables)
            app._exit_renderables.clear()
    assert "a defect" in printed.getvalue()
    assert KEY not in printed.getvalue()


def _fail(environment: object, header: str) -> None:
    raise RuntimeError("a defect")
