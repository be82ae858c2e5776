"""Layers point one way, and what is slow to import is imported only by those who use it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    script = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("layer", ["domain.run", "domain.request", "domain.figures", "domain.prompt"])
def test_the_domain_needs_nothing_but_the_standard_library(layer: str) -> None:
    foreign = {
        "textual",
        "rich",
        "httpx",
        "jinja2",
        "tomli_w",
        "msgspec",
        "platformdirs",
        "asyncio",
        "socket",
    }
    assert not foreign & loaded_by(f"import workbench.{layer}")


@pytest.mark.parametrize("module", ["client.client", "runner.execution"])
def test_the_client_knows_no_textual(module: str) -> None:
    assert not {"textual", "tomllib", "tomli_w", "jinja2"} & loaded_by(f"import workbench.{module}")


def test_the_session_store_knows_no_textual_and_no_http() -> None:
    assert not {"textual", "httpx", "jinja2"} & loaded_by("import workbench.storage.session_file")


def test_the_screen_is_imported_without_http_or_the_engine() -> None:
    assert not {"httpx", "jinja2", "xllamacpp", "h11"} & loaded_by("import workbench.tui.app")


_FIRST_PAINT = """
import os
import sys
from textual.drivers.headless_driver import HeadlessDriver
from workbench.cli import main
from workbench.tui.app import WorkbenchApp

class Terminal(HeadlessDriver):
    is_headless = False

    def write(self, data):
        if "temperature" in data:
            print(*sys.modules, sep="\\n", file=sys.__stdout__, flush=True)
            os._exit(0)

os.environ.update(TERM="xterm-256color", COLUMNS="120", LINES="40")
os.isatty = lambda descriptor: True
WorkbenchApp.get_driver_class = lambda app: Terminal
main([])
"""
"""Shows the screen to a terminal that ends the process with the first paint of the parameters."""


def test_the_first_paint_waits_for_nothing_that_only_sending_saving_and_other_screens_need() -> None:
    later = {
        "argparse",
        "encodings.utf_8_sig",
        "filelock",
        "hashlib",
        "httpx",
        "secrets",
        "tomli_w",
        "workbench.client",
        "workbench.domain.probe_findings",
        "workbench.domain.retokenisation",
        "workbench.runner.branching",
        "workbench.runner.compare_plan",
        "workbench.runner.connections",
        "workbench.runner.many_runs",
        "workbench.runner.split_run",
        "workbench.storage.presets",
        "workbench.storage.probes",
        "workbench.storage.session_store",
        "workbench.tui.compare.screen",
        "workbench.tui.grid.screen",
        "workbench.tui.probe.notes",
        "workbench.tui.replay.screen",
    }
    loaded = loaded_by(_FIRST_PAINT)
    assert "workbench.tui.main.parameter_panel" in loaded
    assert not later & loaded


def test_asking_for_help_imports_no_screen() -> None:
    assert not {"textual", "httpx"} & loaded_by("import workbench.cli")


def test_what_is_imported_is_installed_with_the_program() -> None:
    found: set[str] = set()
    for path in (ROOT / "workbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Import(names):
                    found |= {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(str(module), _, 0):
                    found.add(module.partition(".")[0])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = project["dependencies"] + project["optional-dependencies"]["local"]
    # Textual is made of Rich.
    installed = {
        "workbench",
        "rich",
        *(re.split(r"[\[=<>~!]", requirement)[0].replace("-", "_") for requirement in named),
    }
    assert found - set(sys.stdlib_module_names) <= installed


def test_the_worker_that_runs_a_coroutine_makes_it() -> None:
    """One that is made before may never be awaited, where its screen is closed first."""
    made_before = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (ROOT / "workbench" / "tui").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("run_worker")
        if isinstance(call.args[0], ast.Call) and ast.unparse(call.args[0].func) != "partial"
    ]
    assert made_before == []


def test_opening_the_chat_loads_nothing_that_only_comparing_or_replaying_an_answer_needs() -> None:
    loaded = loaded_by("import workbench.tui.chat.flow")
    assert not {"workbench.tui.compare.flow", "workbench.tui.replay.screen"} & loaded
