"""The README tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.cli.commands import COMMANDS
from workbench.tui.commands import commands_markdown

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETUP = "python3 -m pip install -q --target .uv uv && .uv/bin/uv run"


def test_two_commands_do_everything_on_a_fresh_machine() -> None:
    commands = [line.strip() for line in README.splitlines() if line.strip().startswith("python3 -m pip")]
    assert commands == [f"{SETUP} workbench", f"{SETUP} pytest"]


def test_continuous_integration_runs_exactly_the_test_command() -> None:
    assert f"{SETUP} pytest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_key_table_is_the_command_table() -> None:
    found = re.search(r"<!-- keys -->\n(.*)\n<!-- end of keys -->", README, re.DOTALL)
    assert found is not None
    assert found.group(1) == commands_markdown().strip()


def test_every_command_it_names_exists() -> None:
    named = set(re.findall(r"^    workbench (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_the_pictures_it_shows_are_there() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert shown
    assert [path for path in shown if not (ROOT / path).read_text("utf-8").startswith("<svg ")] == []
