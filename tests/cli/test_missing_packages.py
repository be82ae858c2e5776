"""An environment that lacks a package, or has an old one: what is missing, and how to install it."""

from __future__ import annotations

import subprocess
import sys

import pytest

README_COMMAND = "python3 -m pip install -q --target .uv uv && .uv/bin/uv run workbench"


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("msgspec", ["run", "--prompt", "a"]), ("rich", ["sweep", "--prompt", "a"]), ("textual", ["--demo"])],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    package: str, arguments: list[str]
) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from workbench.cli import main\n"
        f"sys.exit(main({arguments!r}))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert package in ended.stderr.split("\n")[0]
    assert README_COMMAND in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_fault_in_an_import_of_its_own_is_not_taken_for_a_missing_package() -> None:
    program = (
        "import sys; sys.modules['workbench.cli.run'] = None\n"
        "from workbench.cli import main\n"
        "main(['run', '--prompt', 'a'])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "Traceback" in ended.stderr
    assert README_COMMAND not in ended.stderr
