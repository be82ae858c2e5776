"""The list of strings for an editor has what a person reads, and not the code around it."""

from __future__ import annotations

from tests.strings import strings_of

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
