"""The four kinds of prompt and how each is written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.errors import BadValueError
from workbench.domain.prompt import (
    Prompt,
    PromptKind,
    TextPrompt,
    TextsPrompt,
    TokenListsPrompt,
    TokensPrompt,
    count_prompts,
    join_prompts,
    kind_of,
    parse_ids,
    prompt_from_editor,
    prompt_from_json,
    prompt_to_editor,
    prompt_to_json,
    single_prompts,
)

nasty = (
    st.text(st.sampled_from("a-\\\n\r\u2028\x85 \t"))
    | st.text()
    | st.sampled_from(["---", "\\---", "a\n---\n"])
)
ids = st.lists(st.integers(0, 2**31), min_size=1, max_size=5).map(tuple)
prompts = st.one_of(
    nasty.map(TextPrompt),
    st.lists(nasty, min_size=1, max_size=4).map(lambda texts: TextsPrompt(tuple(texts))),
    ids.map(TokensPrompt),
    st.lists(ids, min_size=1, max_size=4).map(lambda lists: TokenListsPrompt(tuple(lists))),
)


@given(prompts)
def test_the_editor_shows_every_prompt_and_gives_it_back_exactly(prompt: Prompt) -> None:
    assert prompt_from_editor(kind_of(prompt), prompt_to_editor(prompt)) == prompt


@given(prompts)
def test_json_holds_every_prompt_and_gives_it_back_exactly(prompt: Prompt) -> None:
    assert prompt_from_json(prompt_to_json(prompt)) == prompt


@given(prompts)
def test_a_prompt_is_its_single_prompts_joined(prompt: Prompt) -> None:
    singles = single_prompts(prompt)
    assert len(singles) == count_prompts(prompt)
    assert single_prompts(join_prompts(singles)) == singles


def test_a_line_of_three_dashes_divides_texts_and_an_escaped_one_does_not() -> None:
    assert prompt_from_editor(PromptKind.TEXTS, "a\n---\nb") == TextsPrompt(("a", "b"))
    assert prompt_from_editor(PromptKind.TEXTS, "a\n\\---\nb") == TextsPrompt(("a\n---\nb",))


@pytest.mark.parametrize("text", ["1, 2, 3", "[1,2,3]", " 1 2\n3 "])
def test_token_ids_are_read_with_commas_blanks_or_brackets(text: str) -> None:
    assert parse_ids(text) == (1, 2, 3)


@pytest.mark.parametrize("text", ["1, two", "-1", "1.5", "٣", "1" * 19, "1" * 5000])
def test_what_is_no_token_id_is_named(text: str) -> None:
    with pytest.raises(BadValueError, match="is not a token id") as caught:
        parse_ids(text)
    assert caught.value.field == "prompt"


def test_the_line_at_fault_is_named() -> None:
    with pytest.raises(BadValueError, match="'x' in line 3"):
        prompt_from_editor(PromptKind.TOKEN_LISTS, "1, 2\n\n3, x")


@pytest.mark.parametrize("kind", [PromptKind.TOKENS, PromptKind.TOKEN_LISTS])
def test_no_token_ids_at_all_are_no_prompt(kind: PromptKind) -> None:
    with pytest.raises(BadValueError, match="holds no token ids"):
        prompt_from_editor(kind, " \n ")


@pytest.mark.parametrize("value", [[], [[]], [1, "a"], [True], [-1], [2**63], None, 7, {"a": 1}, [[1], []]])
def test_anything_else_in_json_is_refused(value: object) -> None:
    with pytest.raises(BadValueError, match="must be a string"):
        prompt_from_json(value)  # type: ignore[arg-type]


def test_prompts_of_two_kinds_do_not_join() -> None:
    with pytest.raises(BadValueError, match="all strings or all lists"):
        join_prompts((TextPrompt("a"), TokensPrompt((1,))))
