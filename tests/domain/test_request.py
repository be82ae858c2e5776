"""A request and the body it makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.parameter_table import FIELDS, ParameterValue
from workbench.domain.parameters import Change, Parameters
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Request

values = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "top_k": st.integers(1, 128),
        "max_tokens": st.integers(1, 10**6),
        "seed": st.integers(-(2**63), 2**63 - 1),
        "n": st.integers(1, 5),
        "stop": st.lists(st.text(min_size=1), min_size=1, max_size=4).map(tuple),
        "logit_bias": st.dictionaries(st.integers(0, 10**6).map(str), st.integers(-100, 100), min_size=1),
    },
)
extras: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(
    st.text(min_size=1).filter(lambda name: name not in FIELDS and name != "stream_options"),
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()),
    max_size=3,
)
prompts: st.SearchStrategy[Prompt] = st.one_of(
    st.text().map(TextPrompt),
    st.lists(st.text(), min_size=1).map(lambda texts: TextsPrompt(tuple(texts))),
    st.lists(st.integers(0, 2**63 - 1), min_size=1).map(lambda ids: TokensPrompt(tuple(ids))),
)


switches = st.fixed_dictionaries({"stream": st.booleans(), "include_usage": st.booleans()})


@given(prompts, st.text(), values, extras, switches)
def test_a_body_is_read_back_as_the_request_that_made_it(
    prompt: Prompt,
    model: str,
    values: dict[str, ParameterValue],
    extra: dict[str, JsonValue],
    switches: dict[str, bool],
) -> None:
    request = Request(prompt, model, Parameters({**values, **switches}, extra))
    again = Request.from_body(request.body())
    assert again.body() == request.body()
    assert (again.prompt, again.model) == (prompt, model)
    assert dict(again.parameters.extra) == extra
    assert {name: again.parameters.get(name) for name in values} == values


def test_an_unset_field_is_not_sent_and_some_always_are() -> None:
    assert Request(TextPrompt("a")).body() == {
        "prompt": "a",
        "max_tokens": 16,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_extra_is_merged_last() -> None:
    request = Request(TextPrompt("a"), parameters=Parameters({"temperature": 1.0}, {"temperature": None}))
    assert request.body()["temperature"] is None


def test_aliases_rename_and_drop_leaves_out() -> None:
    request = Request(TextPrompt("a"), parameters=Parameters({"repetition_penalty": 1.1, "top_k": 2}))
    body = request.body({"repetition_penalty": "repeat_penalty"}, frozenset({"top_k", "stream"}))
    assert body["repeat_penalty"] == 1.1
    assert {"top_k", "stream", "repetition_penalty"}.isdisjoint(body)


def test_candidates_are_never_streamed() -> None:
    body = Request(TextPrompt("a"), parameters=Parameters({"best_of": 2})).body()
    assert body["stream"] is False
    assert "stream_options" not in body


def test_candidates_that_the_endpoint_is_never_asked_for_rule_out_no_stream() -> None:
    request = Request(TextPrompt("a"), parameters=Parameters({"best_of": 2}))
    body = request.body(drop=frozenset({"best_of"}))
    assert body["stream"] is True
    assert "best_of" not in body


def test_costs_are_prompts_by_candidates_by_tokens() -> None:
    request = Request(
        TokenListsPrompt(((1,), (2,))), parameters=Parameters({"n": 2, "best_of": 3, "max_tokens": 10})
    )
    assert (request.choices, request.billed_tokens) == (4, 60)


def test_best_of_below_n_does_not_go_together() -> None:
    problems = list(Parameters({"n": 3, "best_of": 2}).problems())
    assert [(problem.field, problem.title) for problem in problems] == [
        ("best_of", "best_of must be at least n, 3 (got 2)")
    ]


def test_every_value_out_of_range_is_named() -> None:
    problems = Parameters({"temperature": 3, "top_p": 0}).problems()
    assert {problem.field for problem in problems} == {"temperature", "top_p"}


def test_setting_none_or_nothing_unsets() -> None:
    parameters = Parameters({"seed": 1, "stop": ("a",)})
    assert dict(parameters.set("seed", None).set("stop", ()).values) == {}


def test_changes_are_told_in_the_tables_order() -> None:
    before, after = Parameters({"seed": 1}), Parameters({"temperature": 0.5})
    assert before.changes_to(after) == (Change("temperature", None, 0.5), Change("seed", 1, None))
    assert str(Change("seed", 1, None)) == "seed 1 → unset"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(BadValueError) as caught:
        Parameters.from_json({"temprature": 1})
    assert caught.value.field == "temprature"


def test_parameters_cannot_be_changed_behind_ones_back() -> None:
    values: dict[str, ParameterValue] = {"seed": 1}
    parameters = Parameters(values)
    values["seed"] = 2
    assert parameters.get("seed") == 1
