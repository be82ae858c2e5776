"""Commands do their work whatever their standard streams are: closed, or said to be in another encoding."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_sessions import session_file, upon

RUN = ("run", "--prompt", "a", "--endpoint", "http://127.0.0.1:9")


def redirected(redirection: str, *argv: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A command that a shell has started with its streams redirected."""
    script = ("sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "workbench")
    return subprocess.run(
        [*script, *argv], capture_output=True, timeout=60, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    "argv", [("tree",), ("tree", "--json"), ("replay", "--speed", "0"), ("export", "--to", "text")]
)
def test_a_result_that_nobody_wants_goes_nowhere(argv: tuple[str, ...], tmp_path: Path) -> None:
    file = session_file(tmp_path / "s.toml", upon())
    done = redirected(">&-", argv[0], str(file), *argv[1:])
    assert (done.returncode, done.stderr) == (0, b"")


def test_standard_input_that_is_closed_is_empty(tmp_path: Path) -> None:
    done = redirected("<&-", "import", "-", "--session", str(tmp_path / "s.toml"))
    assert (done.returncode, done.stderr) == (1, b"workbench: - has no runs\n")


def test_messages_that_nobody_wants_are_no_part_of_the_result() -> None:
    done = redirected("2>&-", *RUN, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["outcome"] == "error"


def test_a_session_takes_no_output_where_all_streams_are_closed(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    assert redirected("<&- >&- 2>&-", *RUN, "--session", str(file)).returncode == 1
    shown = redirected("", "tree", str(file), "--json")
    assert [run["outcome"] for run in json.loads(shown.stdout)] == ["error"]


def test_results_are_utf8_whatever_encoding_the_environment_names(tmp_path: Path) -> None:
    file = session_file(tmp_path / "s.toml", upon(" ☃"))
    done = redirected("", "tree", str(file), PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "' ☃'" in done.stdout.decode()


def test_the_screen_is_refused_where_no_key_can_come() -> None:
    parent, child = pty.openpty()
    argv = [sys.executable, "-m", "workbench"]
    opened = subprocess.run(argv, stdin=subprocess.DEVNULL, stderr=child, timeout=60, check=False)
    os.close(child)
    shown = os.read(parent, 65536)
    os.close(parent)
    assert opened.returncode == 2
    assert b"It reads standard input" in shown
