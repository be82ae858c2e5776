"""The list of strings for an editor has what a person reads, and not the code around it."""

from __future__ import annotations

from tests.strings import strings_of
from workbench.cli.tables import SUMMARY_HEADS
from workbench.domain.measures import Measure
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.tui.compare.column import figures_of_run

SOURCE = '''
"""Not this docstring of a module."""
STYLE = "Help { height: 1; }"
NAME = "logit_bias"
def fail(path):
    """Nor this one."""
    raise ValueError(f"There is no file {path!r} here.", "Type its path.")
'''


def test_only_what_a_person_reads_is_listed() -> None:
    assert list(strings_of(SOURCE)) == [(7, "There is no file {} here."), (7, "Type its path.")]


def test_figures_have_the_same_names_on_the_screen_and_on_the_command_line() -> None:
    labels = {label for label, _ in figures_of_run(Run(Request(TextPrompt(""))), None, priced=True)}
    assert labels == set(SUMMARY_HEADS)
    assert {measure.value for measure in Measure} < labels
