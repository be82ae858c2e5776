"""The table of request fields."""

from __future__ import annotations

import pytest

from workbench.domain.parameter_table import FIELDS, PARAMETERS, Field, Range


def test_names_are_unique_and_in_the_index() -> None:
    names = [field.name for field in PARAMETERS]
    assert len(set(names)) == len(names)
    assert set(FIELDS) == {"model", "prompt", *names}


@pytest.mark.parametrize("field", PARAMETERS, ids=lambda field: field.name)
def test_every_field_says_what_it_is_for(field: Field) -> None:
    assert field.help.endswith(".")
    assert field.unset
    assert field.range is not None or not field.is_number


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("temperature", 0, 2),
        ("top_k", 1, 128),
        ("min_p", 0, 1),
        ("logprobs", 0, 5),
        ("n", 1, 128),
        ("best_of", 1, 128),
        ("frequency_penalty", -2, 2),
        ("presence_penalty", -2, 2),
        ("logit_bias", -100, 100),
    ],
)
def test_ranges_are_the_contracts(name: str, low: float, high: float) -> None:
    assert FIELDS[name].range == Range(low, high)


@pytest.mark.parametrize(("name", "high"), [("top_p", 1), ("repetition_penalty", 2)])
def test_some_ranges_leave_zero_out(name: str, high: float) -> None:
    assert FIELDS[name].range == Range(0, high, low_open=True)


def test_a_range_knows_its_edges() -> None:
    assert 0 in Range(0, 1)
    assert 0 not in Range(0, 1, low_open=True)
    assert 1 in Range(0, 1, low_open=True)
    assert 1.1 not in Range(0, 1)


def test_a_range_reads_as_a_person_writes_it() -> None:
    assert str(Range(0, 1, low_open=True)) == "above 0 and at most 1"
    assert str(FIELDS["seed"].range) == "between -9223372036854775808 and 9223372036854775807"
