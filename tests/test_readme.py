"""The README tells the truth."""

from __future__ import annotations

import importlib
import os
import re
import shlex
from pathlib import Path

import pytest

from tests.bench.figure import Figure
from tests.bench.table import BENCHES, in_readme, with_figures
from tests.readme import KEYS, commands_markdown, examples, printed, words_and_figures
from workbench.cli.commands import COMMANDS
from workbench.cli.parsing import Parser
from workbench.storage.config import Config
from workbench.storage.files import Folders
from workbench.storage.presets import load_presets

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETUP = "python3 -m pip install -q --target .uv uv && .uv/bin/uv run"


def test_two_commands_do_everything_on_a_fresh_machine() -> None:
    commands = [line.strip() for line in README.splitlines() if line.strip().startswith("python3 -m pip")]
    assert commands == [f"{SETUP} workbench", f"{SETUP} pytest"]


def test_continuous_integration_runs_exactly_the_test_command() -> None:
    assert f"{SETUP} pytest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_key_table_is_the_command_table() -> None:
    found = KEYS.search(README)
    assert found is not None
    assert found.group() == commands_markdown().strip()


@pytest.mark.slow
@pytest.mark.xdist_group("engine")
def test_commands_print_what_is_shown_below_them(tmp_path: Path) -> None:
    shown = examples(README)
    assert len(shown) == README.count("```console")
    for command, output in shown:
        words, figures = words_and_figures(printed(command, tmp_path))
        expected = words_and_figures(output)
        assert (command, words) == (command, expected[0])
        assert figures == pytest.approx(expected[1], rel=0.05, abs=0.2)


def test_output_is_compared_by_words_and_figures_but_not_by_ids_and_widths() -> None:
    shown = words_and_figures("run 51f1a2ac,  token 1 of 12:\n ────\n·sea  76.8%\n")
    assert shown == (["run", "ID,", "token", "1", "of", "12:", "·sea", "#%"], [76.8])
    assert words_and_figures("run 0b3de9f8, token 1 of 12:\n ───── \n·sea 76.8%\n") == shown
    assert words_and_figures("run 0b3de9f8, token 2 of 12:\n·sea 76.8%\n") != shown


def test_the_figures_are_those_of_the_benches_that_there_are() -> None:
    benches = [bench for bench, _ in in_readme(README)]
    assert set(benches) <= set(BENCHES)
    assert benches == sorted(benches, key=BENCHES.index)
    assert with_figures(README, {}) == README
    folder = Path(__file__).with_name("bench")
    assert [bench for bench in BENCHES if not (folder / f"{bench}.py").is_file()] == []


def test_new_figures_take_the_places_of_the_same_benchs_old_ones() -> None:
    slow, fast = (Figure("speed", value, "ms", "≤ 12 ms", value <= 12, {"peer": 20}) for value in (1400, 7))
    other = Figure("bytes", 5, "B", "—", True)
    readme = "a\n<!-- figures -->\n<!-- end of figures -->\nb"
    readme = with_figures(readme, {"view": [slow, other], "client": [other]})
    assert "| view | speed | 1,400 ms | peer 20 | ≤ 12 ms | no |" in readme.splitlines()
    readme = with_figures(readme, {"view": [fast]})
    assert readme.splitlines()[-4:] == [
        "| client | bytes | 5 B | — | — | yes |",
        "| view | speed | 7 ms | peer 20 | ≤ 12 ms | yes |",
        "<!-- end of figures -->",
        "b",
    ]


def test_it_names_every_command_with_options_that_there_are() -> None:
    shown = re.findall(r"^(?:    |\$ )workbench (\w+)(.*)", README, re.MULTILINE)
    assert {name for name, _ in shown} == set(COMMANDS)
    for name, options in shown:
        parser = Parser(f"workbench {name}")
        importlib.import_module(COMMANDS[name].module).configure(parser)
        parser.parse_args(shlex.split(options))


def test_it_names_every_setting_and_built_in_preset() -> None:
    config = README.partition("`config.toml` has")[2].partition("\n\n")[0]
    assert [name for name in Config.__struct_fields__ if not re.search(rf"`\[?{name}\]?`", config)] == []
    presets = re.search(r"named parameters\. Built in: (.*)\.", README)
    assert presets is not None
    assert presets.group(1).split(", ") == list(load_presets(Folders.default(os.environ)).presets)


def test_the_pictures_it_shows_are_there() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert shown
    assert [path for path in shown if not (ROOT / path).read_text("utf-8").startswith("<svg ")] == []
