"""Changing one value of a person's TOML file, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.storage.toml_editing import NotEditable, changed, rewritten


def with_value(text: str, path: Sequence[str], value: object) -> str:
    return rewritten(text, changed(tomllib.loads(text), path, value))


WRITTEN = """\
# my GPU box
base_url = "http://gpu:8000/v1"   # in the cellar
drop = [
    "best_of",  # it crashes
    "top_k",
]
concurrency = 8 # it has eight slots

# where the key is
[key]
environment = "GPU_KEY"

[headers]
X-Title = "a # b"  # shown there
"""


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (("base_url",), "http://b/v1", '"http://gpu:8000/v1"   #', '"http://b/v1"   #'),
        (("concurrency",), 2, "concurrency = 8 #", "concurrency = 2 #"),
        (("drop",), ["n"], '[\n    "best_of",  # it crashes\n    "top_k",\n]', '["n"]'),
        (("drop",), None, 'drop = [\n    "best_of",  # it crashes\n    "top_k",\n]\n', ""),
        (("key", "environment"), "B", '"GPU_KEY"', '"B"'),
        (("key", "environment"), None, '[key]\nenvironment = "GPU_KEY"\n', ""),
        (("headers", "X-Title"), "c", '"a # b"  #', '"c"  #'),
        (("headers", "a b"), "c", "# shown there\n", '# shown there\n"a b" = "c"\n'),
        (("retries",), 0, "# it has eight slots\n", "# it has eight slots\nretries = 0\n"),
        (("prices", "prompt"), 0.5, "# shown there\n", "# shown there\n\n[prices]\nprompt = 0.5\n"),
    ],
)
def test_one_value_changes_and_every_other_character_stays(
    path: tuple[str, ...], value: object, before: str, after: str
) -> None:
    assert WRITTEN.count(before) == 1
    assert with_value(WRITTEN, path, value) == WRITTEN.replace(before, after)


def test_inline_tables_and_dotted_keys_are_changed_where_they_stand() -> None:
    inline = 'key = { environment = "A", header = "X" } # there\nretries = 1\n'
    assert with_value(inline, ("key", "environment"), "B") == inline.replace('"A"', '"B"')
    assert with_value(inline, ("key", "command"), ["a", "b"]).count("# there") == 1
    assert with_value('key.environment = "A"\n', ("key", "environment"), "B") == 'key.environment = "B"\n'


def test_a_file_of_windows_keeps_its_line_ends() -> None:
    text = WRITTEN.replace("\n", "\r\n")
    assert with_value(text, ("concurrency",), 2) == text.replace("concurrency = 8", "concurrency = 2")


def test_what_cannot_be_changed_alone_is_refused() -> None:
    with pytest.raises(NotEditable, match="header"):
        with_value('key.environment = "A"\n', ("key", "header"), "X")
    with pytest.raises(NotEditable):
        with_value("key = 1\n", ("key", "header"), "X")


names = st.text(st.characters(codec="utf-8", exclude_characters="\x00\"'"), min_size=1, max_size=5)
plain = (
    st.integers(-9, 9) | st.booleans() | st.text(st.characters(codec="utf-8")) | st.lists(st.text("a#]'\\"))
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(names, plain | st.dictionaries(names, plain, min_size=1), max_size=4),
    st.lists(names, min_size=1, max_size=2),
    plain | st.none(),
)
def test_the_result_reads_as_the_same_table_with_that_value(
    table: dict[str, object], path: list[str], value: object
) -> None:
    text = tomli_w.dumps(table)
    before = tomllib.loads(text)
    try:
        after = tomllib.loads(with_value(text, path, value))
    except NotEditable:
        return
    inner = after
    for name in path[:-1]:
        inner = inner.get(name, {})
    assert inner.get(path[-1]) == value
    assert {key: item for key, item in after.items() if key != path[0]} == {
        key: item for key, item in before.items() if key != path[0]
    }
