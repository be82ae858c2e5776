"""What every command does with values, files and names that it cannot use: its words and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.in_process import serving_beside
from tests.client.loopback import DONE, answering, event
from tests.domain.builders import choice_of, run_of, token_of
from workbench.cli import main
from workbench.cli.exit_status import ExitStatus
from workbench.domain.session import Session
from workbench.storage.files import Folders
from workbench.storage.session_store import SessionStore


@pytest.mark.parametrize(
    "arguments",
    [
        ("endpoints", "show", "nowhere"),
        ("endpoints", "set", "x", "base_url=nowhere"),
        ("probe", "nowhere"),
        ("run", "--prompt", "a", "--endpoint", "nowhere"),
        ("score", "--text", "a", "--endpoint", "nowhere"),
        ("compare", "--prompt", "a", "--preset", "\x1b[31m", "--preset", "greedy"),
        ("check", "gone.toml"),
    ],
)
def test_a_value_that_is_not_allowed_ends_any_command_with_status_2_and_is_not_obeyed(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    message = capsys.readouterr().err
    assert f"workbench {arguments[0]}: error: " in message
    assert "\x1b" not in message


def test_a_name_that_the_system_refuses_is_an_error_and_no_defect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a" * 300]) == 1
    assert capsys.readouterr().err.endswith("aaa: File name too long\n")


def test_a_mistake_in_the_configuration_is_told_by_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    config = Folders.default(os.environ).config
    config.mkdir(parents=True)
    (config / "config.toml").write_text('confirm_above = "ten"\n', encoding="utf-8")
    with serving_beside(answering(event(" fine", finish_reason="stop") + DONE)) as server:
        assert main(["run", "--prompt", "a", "--endpoint", server.base_url]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"workbench: {config / 'config.toml'}, line 1: confirm_above")
    assert all(line.startswith("workbench: ") for line in lines)


def test_json_has_null_where_a_figure_is_infinite(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "surprised.toml"
    store = SessionStore.create(path, Session(runs=[run_of(choice_of([token_of("a", 0.5)]))]))
    store.save()
    store.close()
    path.write_text(path.read_text("utf-8").replace("-0.6931471805599453", "-1e9"), "utf-8")
    assert main(["tree", str(path), "--json"]) == 0
    (run,) = json.loads(capfdbinary.readouterr().out, parse_constant=pytest.fail)
    assert run["mean_logprob"] == -1e9
    assert run["perplexity"] is None


@pytest.mark.parametrize("arguments", [[], ["--demo"]])
def test_the_screen_is_not_opened_where_there_is_no_terminal(arguments: list[str]) -> None:
    argv = [sys.executable, "-m", "workbench", *arguments]
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert b"The screen needs a terminal" in ended.stderr
    assert b"\x1b" not in ended.stdout + ended.stderr


def test_a_refusal_is_short_and_names_the_files_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "folder" / "missing"
    refused = [
        ["run", "--prompt-file", str(missing)],
        ["run", "--prompt", "x", "--vars", str(missing)],
        ["score", str(missing)],
        ["check", str(missing)],
        ["compare", "--prompts", str(missing), "--preset", "greedy", "--preset", "precise"],
    ]
    for argv in refused:
        with pytest.raises(SystemExit) as caught:
            main(argv)
        assert caught.value.code == ExitStatus.BAD_ARGUMENTS
        first, last = capsys.readouterr().err.splitlines()
        assert first.startswith(f"workbench {argv[0]}: error: ") and str(missing) in first
        assert last == f"Try 'workbench {argv[0]} --help'."
    assert main(["tree", str(missing)]) == ExitStatus.FAILED
    lines = capsys.readouterr().err.splitlines()
    assert str(missing) in lines[0] and all(line.startswith("workbench: ") for line in lines)


def test_control_characters_of_arguments_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--\x1b[31m", "\x9b2J"])
    assert capsys.readouterr().err.isascii()
    with pytest.raises(SystemExit):
        main(["endpoints", "\x1b[31m"])
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--runs", "a.toml", "b.toml", "--prompt", "x"),
        ("--runs", "a.toml", "b.toml", "--prompts", "x.txt"),
        ("--runs", "a.toml", "b.toml", "--preset", "greedy"),
        ("--runs", "a.toml", "b.toml", "--temperature", "0"),
        ("--runs", "a.toml", "b.toml", "--endpoint", "local"),
        ("--prompts", "x.txt", "--preset", "greedy", "--preset", "pure", "--prompt", "x"),
        ("--prompt", "x", "--preset", "greedy", "--preset", "pure", "--column", "q"),
    ],
)
def test_an_option_without_effect_on_a_comparison_is_refused(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["compare", *arguments])
    assert caught.value.code == ExitStatus.BAD_ARGUMENTS
    refused = arguments[3] if arguments[0] == "--runs" else arguments[-2]
    assert capsys.readouterr().err.startswith(f"workbench compare: error: {refused} ")


@pytest.mark.parametrize("port", ["-1", "65536", "99999999999999999999", "http"])
def test_what_is_no_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["serve", f"--port={port}"])
    assert caught.value.code == ExitStatus.BAD_ARGUMENTS
    assert f"argument --port: {port!r} is not a port" in capsys.readouterr().err
