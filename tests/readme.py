"""Writes what the README shows of the program, its keys and what commands print: `python -m tests.readme`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from workbench.tui.commands.table import COMMANDS

README = Path(__file__).resolve().parents[1] / "README.md"
KEYS = re.compile(r"(?<=<!-- keys -->\n).*(?=\n<!-- end of keys -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```console\n\$ (.*)\n((?:.*\n)*?)```\n")
_RUN_ID = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b")
_FIGURE = re.compile(r"\d+\.\d+")


def commands_markdown() -> str:
    """The key table of the README."""
    lines = ["| where | key | command | name | does |", "|---|---|---|---|---|"]
    for command in COMMANDS:
        keys = "palette" if not command.keys else command.key_label.replace("\\", "\\\\")
        lines.append(f"| {command.where} | {keys} | {command.title} | `{command.id}` | {command.help} |")
    return "\n".join(lines) + "\n"


def examples(readme: str) -> list[tuple[str, str]]:
    """The commands that are shown, each with the output that is shown below it."""
    return _EXAMPLE.findall(readme)


def printed(command: str, folder: Path) -> str:
    """What a command prints on standard output in a folder. Raises CalledProcessError where it fails."""
    program, *arguments = shlex.split(command)
    assert program == "workbench"
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *arguments],
        cwd=folder,
        env={**os.environ, "WORKBENCH_HOME": str(folder / "home")},
        stdout=subprocess.PIPE,
        check=True,
    )
    lines = [line.rstrip() for line in done.stdout.decode().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def words_and_figures(output: str) -> tuple[list[str], list[float]]:
    """An output's words, without the ids of runs and the width of columns, and its figures.

    Processors differ in how they round, so that figures are to be compared with a tolerance.
    """
    words = _FIGURE.sub("#", _RUN_ID.sub("ID", output)).replace("─", "").split()
    return words, [float(figure) for figure in _FIGURE.findall(output)]


def main() -> None:
    """Run the commands that are shown and write what they print, and the key table."""
    with tempfile.TemporaryDirectory() as folder:

        def example(match: re.Match[str]) -> str:
            command = match.group(1)
            return f"```console\n$ {command}\n{printed(command, Path(folder))}```\n"

        readme = _EXAMPLE.sub(example, README.read_text("utf-8"))
    README.write_text(KEYS.sub(lambda _: commands_markdown().strip(), readme), "utf-8")


if __name__ == "__main__":
    main()
