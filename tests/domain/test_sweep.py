"""Axes, cells and costs of a sweep."""

from __future__ import annotations

import pytest

from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.sweep import Axis, Cell, Sweep, parse_axis


def test_a_range_includes_both_ends_without_rounding_errors() -> None:
    assert parse_axis("temperature=0:1.5:0.25") == Axis("temperature", (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5))


def test_a_list_names_its_values() -> None:
    assert parse_axis("top_p=0.5,1") == Axis("top_p", (0.5, 1.0))


def test_options_may_spell_the_field_with_hyphens() -> None:
    assert parse_axis("top-k=1:5:2") == Axis("top_k", (1, 3, 5))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("temperature", "FIELD=VALUES"),
        ("heat=1,2", "FIELD=VALUES"),
        ("temperature=0:3:1", "between 0 and 2"),
        ("temperature=1:0:1", "LOW ≤ HIGH"),
        ("temperature=0:1:0", "STEP above 0"),
        ("temperature=0:1", "LOW:HIGH:STEP"),
        ("temperature=0:1:0.0001", "more than 1000 values"),
        ("temperature=0:1e999999:1", "more than 1000 values"),
        ("temperature=0:1e999999:1e-999999", "more than 1000 values"),
        ("temperature=hot", "is not a number"),
        ("stop=a,b", "cannot be varied"),
        ("temperature=nan:1:1", "LOW"),
    ],
)
def test_a_bad_axis_says_what_is_wrong(text: str, named: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse_axis(text)
    assert named in str(caught.value)


def test_cells_are_all_combinations_with_repeats() -> None:
    sweep = Sweep(
        Request(TextPrompt("Once"), "", Parameters({"seed": 7})),
        (Axis("temperature", (0.0, 1.0)), Axis("top_p", (0.5, 1.0))),
        repeats=2,
    )
    cells = list(sweep.cells())
    assert len(cells) == sweep.size == 8
    assert cells[:3] == [Cell((0.0, 0.5), 0), Cell((0.0, 0.5), 1), Cell((0.0, 1.0), 0)]
    request = sweep.request_for(cells[1])
    assert request.body() == {
        "prompt": "Once",
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 16,
        "seed": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
