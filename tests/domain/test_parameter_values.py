"""Parameter values as people type them, as JSON holds them, and as keys step them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.parameter_table import FIELDS, PARAMETERS, Field, ParameterValue, Range
from workbench.domain.parameter_values import (
    check_value,
    format_value,
    parse_value,
    step_value,
    value_from_json,
)

NUMBERS = [field for field in PARAMETERS if field.is_number]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", " 0.7 ", 0.7),
        ("max_tokens", "128", 128),
        ("stream", "OFF", False),
        ("stream", "yes", True),
        ("stop", "END", ("END",)),
        ("stop", "\\n\\n", ("\n\n",)),
        ("stop", '["a", "b"]', ("a", "b")),
        ("stop", "[not json", ("[not json",)),
        ("stop", "", ()),
        ("logit_bias", "50256=-100, 11=2.5", {"50256": -100, "11": 2.5}),
        ("logit_bias", '{"7": 1}', {"7": 1}),
    ],
)
def test_a_typed_value_is_read(name: str, text: str, value: ParameterValue) -> None:
    assert parse_value(FIELDS[name], text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("max_tokens", "1.5"),
        ("max_tokens", "1" * 400),
        ("max_tokens", "1" * 5000),
        ("temperature", "warm"),
        ("temperature", "nan"),
        ("temperature", "1e999"),
        ("stream", "maybe"),
        ("logit_bias", "7"),
        ("logit_bias", "7=nan"),
        ("logit_bias", '{"7": "x"}'),
        ("logit_bias", "{7"),
    ],
)
def test_what_is_no_value_is_refused_with_the_fields_name(name: str, text: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse_value(FIELDS[name], text)
    assert caught.value.field == name
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", True),
        ("temperature", "1"),
        ("max_tokens", 1.0),
        ("max_tokens", None),
        ("stream", 1),
        ("stop", [1]),
        ("logit_bias", {"1": True}),
        ("logit_bias", [1]),
        ("temperature", float("nan")),
        ("temperature", 10**400),
        ("top_k", 10**400),
        ("logit_bias", {"1": 10**400}),
    ],
)
def test_json_of_another_type_is_refused(name: str, value: JsonValue) -> None:
    with pytest.raises(BadValueError):
        value_from_json(FIELDS[name], value)


def test_one_stop_text_is_a_list_of_one() -> None:
    assert value_from_json(FIELDS["stop"], "END") == ("END",)


@given(st.sampled_from(NUMBERS), st.integers(-(2**40), 2**40) | st.floats(-1e6, 1e6))
def test_a_shown_number_may_be_typed_back(field: Field, number: float) -> None:
    value = parse_value(field, format_value(int(number) if field.kind == "integer" else number))
    assert value == (int(number) if field.kind == "integer" else number)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4).map(tuple))
def test_shown_stop_texts_may_be_typed_back(texts: tuple[str, ...]) -> None:
    assert parse_value(FIELDS["stop"], format_value(texts)) == texts


@given(st.dictionaries(st.integers(0, 10**6).map(str), st.integers(-100, 100), min_size=1, max_size=4))
def test_shown_biases_may_be_typed_back(biases: dict[str, float]) -> None:
    assert parse_value(FIELDS["logit_bias"], format_value(biases)) == biases
    assert parse_value(FIELDS["logit_bias"], json.dumps(biases)) == biases


@given(st.sampled_from(NUMBERS), st.integers(-40, 40).filter(bool), st.data())
def test_a_step_never_leaves_the_range(field: Field, steps: int, data: st.DataObject) -> None:
    assert field.range is not None
    value = data.draw(
        st.integers(int(max(field.range.low, -1e9)), int(min(field.range.high, 1e9)))
        if field.kind == "integer"
        else st.floats(field.range.low, field.range.high, exclude_min=field.range.low_open)
    )
    stepped = step_value(field, value, steps, {})
    assert check_value(field, stepped) is None
    assert isinstance(stepped, int | float)
    assert stepped >= value - 1e-5 if steps > 0 else stepped <= value + 1e-5


@pytest.mark.parametrize("field", PARAMETERS, ids=lambda field: field.name)
def test_every_fields_start_and_always_are_allowed(field: Field) -> None:
    for value in (field.start, field.always):
        assert value is None or check_value(field, value) is None


def test_an_unset_field_begins_at_its_start() -> None:
    assert step_value(FIELDS["temperature"], None, 1, {}) == 1.0
    assert step_value(FIELDS["top_k"], None, -1, {}) == 40


def test_steps_do_not_gather_rounding_errors() -> None:
    value: ParameterValue = 0.0
    for _ in range(7):
        value = step_value(FIELDS["temperature"], value, 1, {})
    assert format_value(value) == "0.7"


def test_an_endpoints_own_range_replaces_the_contracts() -> None:
    limits = {"logprobs": Range(0, 20)}
    assert step_value(FIELDS["logprobs"], 5, 1, limits) == 6
    assert check_value(FIELDS["logprobs"], 20, limits) is None
    assert check_value(FIELDS["logprobs"], 20) == "logprobs must be between 0 and 5 (got 20)"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("top_p", 0, "top_p must be above 0 and at most 1 (got 0)"),
        ("stop", ("a",) * 5, "stop takes at most 4 strings (got 5)"),
        ("stop", ("",), "stop must not hold an empty text"),
        ("logit_bias", {"x": 1}, "logit_bias: 'x' is not a token id"),
        ("logit_bias", {"7": 101}, "logit_bias: the bias of 7 must be between -100 and 100 (got 101)"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(name: str, value: ParameterValue, why: str) -> None:
    assert check_value(FIELDS[name], value) == why


def test_a_list_has_no_steps() -> None:
    with pytest.raises(BadValueError, match="has no steps"):
        step_value(FIELDS["stop"], ("a",), 1, {})
