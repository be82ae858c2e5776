"""Arguments of any bytes in any locale: a text that is not UTF-8 is refused by name, a file's name works."""

from __future__ import annotations

import argparse
import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.in_process import serving_beside
from tests.cli.test_run import workbench
from tests.client.loopback import DONE, answering, event, serving
from tests.domain.builders import choice_of, run_of
from tests.tui.scripted import answer, until
from tests.tui.scripted import workbench as screen
from workbench.cli import main
from workbench.cli.commands import COMMANDS
from workbench.cli.parsing import Parser, file_name
from workbench.storage.session_store import SessionStore
from workbench.tui.sessions.screen import SessionsScreen

BAD = os.fsdecode(b"J\xfcrgen")
ANSWER = answering(event(" fine", finish_reason="stop") + DONE)


def texts_of(parser: argparse.ArgumentParser, command: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Command lines that each give one option or argument a text."""
    values: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from texts_of(inner, (*command, name))
        elif action.type is None and action.nargs != 0 and action.choices is None:
            count = action.nargs if isinstance(action.nargs, int) else 1
            yield (*command, *values, *action.option_strings[:1], *[BAD] * count)
        if not action.option_strings:
            values.append("x")


def every_text() -> Iterator[tuple[str, ...]]:
    for name, command in COMMANDS.items():
        parser = Parser(name)
        importlib.import_module(command.module).configure(parser)
        yield from texts_of(parser, (name,))
    yield from (("--endpoint", BAD), ("--model", BAD), ("--api-key-env", BAD))


@pytest.mark.parametrize("arguments", [*every_text()], ids=lambda arguments: " ".join(arguments[:-1]))
def test_every_text_that_is_not_utf8_is_refused_with_its_option(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    message, _ = capsys.readouterr().err.splitlines()
    assert "byte 0xfc in 'J\\udcfcrgen' is not UTF-8" in message
    assert arguments[-2].startswith("--") is (f"argument {arguments[-2]}" in message)


def test_every_option_that_names_a_file_is_marked_as_one() -> None:
    marked = {
        (name, action.dest)
        for name, command in COMMANDS.items()
        for action in configured(name, command.module)._actions
        if action.type is file_name and not isinstance(action, argparse._SubParsersAction)
    }
    assert {name for name, _ in marked} == {*COMMANDS} - {"sessions", "endpoints", "probe", "schema", "model"}
    assert {
        ("run", "chat"),
        ("run", "vars"),
        ("run", "session"),
        ("compare", "runs"),
        ("sweep", "session"),
    } < marked


def configured(name: str, module: str) -> Parser:
    parser = Parser(name)
    importlib.import_module(module).configure(parser)
    return parser


def test_file_names_of_any_bytes_work_and_are_told_exactly(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = tmp_path / "home" / "data" / "sessions"
    folder.mkdir(parents=True)

    def named(name: str) -> str:
        return str(folder / os.fsdecode(name.encode() + b"\xfc" + b"x" * 150 + b".toml"))

    def printed(*arguments: str) -> bytes:
        assert main(arguments) == 0
        captured = capfdbinary.readouterr()
        assert b"Traceback" not in captured.err
        return captured.out

    session, other, output = named("bro"), named("copy"), named("runs")
    Path(named("turns")).write_text('[{"role": "user", "content": "Hi"}]')
    Path(named("prompt")).write_text("Dear {{name}}")
    Path(named("vars")).write_text('name = "Ada"')
    Path(named("set")).write_text("One\nTwo\n")
    with serving_beside(ANSWER) as server:
        to = ("--endpoint", server.base_url, "--model", "m")
        options = ("--prompt-file", named("prompt"), "--vars", named("vars"))
        assert printed("run", *options, *to, "--session", session) == b" fine"
        printed("run", "--chat", named("turns"), "--template", "chatml", *to, "--session", session)
        presets = ("--preset", "greedy", "--preset", "precise")
        assert main(["compare", "--prompts", named("set"), *presets, *to, "--session", session]) == 0
        capfdbinary.readouterr()
    listed = json.loads(printed("sessions", "--json"))
    assert session in [entry["path"] for entry in listed]
    assert b"bro\\udcfcx" in printed("sessions")
    printed("export", session, "--to", "jsonl", "--output", output)
    assert b"6 of 6 runs imported" in printed("import", output, "--session", other)
    (first, second, *_) = (run["run"] for run in map(json.loads, Path(output).read_text().splitlines()))
    printed("compare", "--runs", f"{session}#{first}", f"{other}#{second}")
    printed("compare", "--runs", f"{session}#{first}", f"{other}#{second}", "--json")
    printed("export", session, "--to", "markdown")
    printed("export", session, "--to", "html")
    printed("replay", session, "--run", first, "--speed", "0")
    printed("tree", session)
    printed("tree", session, "--name", first, "kept")
    assert not [left for left in folder.iterdir() if left.name.startswith(".")]


def test_a_missing_file_of_any_name_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("export", BAD, "--to", "text"), ("import", BAD, "--session", "s.toml"), ("tree", BAD)):
        assert main(arguments) == 1
        assert "J\\udcfcrgen cannot be read" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {}])
async def test_utf8_is_utf8_in_every_locale(locale: dict[str, str], tmp_path: Path) -> None:
    async with serving(ANSWER) as server:
        options = ("--prompt", "Dear {{name}}", "--var", "name=Jürgen", "--endpoint", server.base_url)
        done = await workbench(
            "run", *options, "--session", str(tmp_path / "brü.toml"), "--json", environment=locale
        )
        assert (done.status, done.err) == (0, "")
        assert server.requests[0].json["prompt"] == "Dear Jürgen"
        done = await workbench("run", *options[:2], "--var", BAD, *options[4:], environment=locale)
        assert (done.status, len(server.requests)) == (2, 1)
        assert "--var" in done.err
        assert "not UTF-8" in done.err
    opened = SessionStore.open(tmp_path / "brü.toml")
    opened.store.close()
    assert len(opened.session.runs) == 1


@pytest.fixture
def path() -> Path:
    """A session in the sessions folder, whose name is not UTF-8."""
    folder = Path(os.environ["WORKBENCH_HOME"], "data", "sessions")
    folder.mkdir(parents=True)
    store = SessionStore.create(folder / f"{BAD}.toml")
    store.finish(run_of(choice_of([" kept"])))
    store.close()
    return store.path


async def test_a_session_of_any_name_is_listed_and_opened_on_the_screen(path: Path) -> None:
    async with screen(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: len(app.main.output.runs) == 1)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and not app.main.output.runs[1].is_running)
        await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
    opened = SessionStore.open(path)
    opened.store.close()
    assert [run.ordered[0].text for run in opened.session.runs] == [" kept", " in"]
