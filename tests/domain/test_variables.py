"""Variables in prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TextsPrompt, TokensPrompt
from workbench.domain.variables import Filled, fill, fill_prompt, find_variables

_NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,8}", fullmatch=True)
_PLAIN = st.text(st.characters(exclude_characters="{}"))


def test_variables_are_found_once_each_in_order() -> None:
    assert find_variables("{{b}} and {{a}} and {{b}}, {{größe}}") == ("b", "a", "größe")


def test_what_only_looks_like_a_variable_is_text() -> None:
    text = "{{ spaced }} {{}} {{1st}} {single} {{a b}} {{x.y}} {{a"
    assert find_variables(text) == ()
    assert fill(text, {"spaced": "no", "single": "no", "a": "no"}) == Filled(text)


def test_unknown_variables_stay_and_are_reported() -> None:
    assert fill("{{a}} {{b}} {{c}} {{b}}", {"a": "1"}) == Filled("1 {{b}} {{c}} {{b}}", ("b", "c"))


def test_a_value_is_not_looked_into_again() -> None:
    assert fill("{{a}}", {"a": r"{{b}} \1 \g<0>", "b": "no"}).text == r"{{b}} \1 \g<0>"


@given(st.text(), st.dictionaries(_NAMES, st.text()))
def test_filling_reports_exactly_what_it_leaves(text: str, values: dict[str, str]) -> None:
    filled = fill(text, values)
    assert set(filled.unknown) == set(find_variables(text)) - set(values)
    if not find_variables(text):
        assert filled.text == text


@given(st.lists(st.tuples(_PLAIN, _NAMES, st.text())), _PLAIN)
def test_everything_around_variables_stays_as_it_is(parts: list[tuple[str, str, str]], tail: str) -> None:
    values = {name: value for _, name, value in parts}
    text = "".join(f"{before}{{{{{name}}}}}" for before, name, _ in parts) + tail
    expected = "".join(before + values[name] for before, name, _ in parts) + tail
    assert fill(text, values) == Filled(expected)


def test_prompts_are_filled_in_every_text_and_token_ids_left_alone() -> None:
    values = {"a": "1=2", "b": ""}
    assert fill_prompt(TextPrompt("{{a}}-{{b}}"), values) == TextPrompt("1=2-")
    assert fill_prompt(TextsPrompt(("{{a}}", "x")), values) == TextsPrompt(("1=2", "x"))
    assert fill_prompt(TokensPrompt((1,)), values) == TokensPrompt((1,))


def test_a_variable_without_a_value_is_named_once_any_is_given() -> None:
    assert fill_prompt(TextPrompt("{{a}}"), {}) == TextPrompt("{{a}}")
    with pytest.raises(BadValueError, match="No value for c"):
        fill_prompt(TextPrompt("{{a}} {{c}}"), {"a": "1"})
