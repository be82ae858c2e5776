"""Every command that sends says what it may cost, and asks in the same way where that is much."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from tests.cli.in_process import serving_beside
from tests.client.loopback import DONE, answering, event
from workbench.cli import main
from workbench.storage.files import Folders

FINE = answering(event(" fine", finish_reason="stop") + DONE)
PRESETS = ("--preset", "greedy", "--preset", "creative")
COMMANDS = {
    "run": ("run", "--prompt", "a"),
    "chat": ("run", "--chat", "turns.json", "--template", "chatml"),
    "compare": ("compare", "--prompt", "a", *PRESETS),
    "sweep": ("sweep", "--prompt", "a", "--vary", "temperature=0,1"),
    "branch": ("branch", "kept.toml"),
    "replay": ("replay", "kept.toml", "--check"),
}


class Terminal(io.StringIO):
    """Standard input where a person answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session and a conversation to go on with, and a limit of ten tokens."""
    monkeypatch.chdir(tmp_path)
    config = Folders.default(os.environ).config
    config.mkdir(parents=True)
    (config / "config.toml").write_text("confirm_above = 10\n", encoding="utf-8")
    (tmp_path / "turns.json").write_text('[{"role": "user", "content": "Hi"}]', encoding="utf-8")
    with serving_beside(FINE) as server:
        main(["run", "--prompt", "a", "--endpoint", server.base_url, "--session", "kept.toml", "--yes"])


@pytest.mark.parametrize("name", COMMANDS)
def test_much_goes_out_from_a_terminal_only_after_a_yes(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving_beside(FINE) as server:
        command = [*COMMANDS[name], "--endpoint", server.base_url]
        monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
        capsys.readouterr()
        assert main(command) == 2
        message = capsys.readouterr().err
        assert "may generate up to" in message
        assert message.endswith("Send? [y/N] ")
        assert server.requests == []
        monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
        assert main(command) == 0
        assert server.requests
        capsys.readouterr()
        assert main([*command, "--yes"]) == 0
        assert "Send?" not in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_script_is_never_asked_and_told_only_of_more_than_one_answer(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with serving_beside(FINE) as server:
        assert main([*COMMANDS[name], "--endpoint", server.base_url]) == 0
    message = capsys.readouterr().err
    assert "Send?" not in message
    assert ("may generate" in message) is (name in ("compare", "sweep"))
