"""One request as several: which prompt, which choice and which seed each part has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.split import NOT_SPLIT, Split, parts_of, seeds_of

PROMPTS: list[Prompt] = [
    TextPrompt("a"),
    TextsPrompt(("a", "b", "c")),
    TokensPrompt((1, 2)),
    TokenListsPrompt(((1,), (2, 3))),
]


@given(
    st.sampled_from(PROMPTS),
    st.integers(1, 5) | st.none(),
    st.builds(Split, st.booleans(), st.booleans()),
)
def test_every_choice_of_the_whole_is_asked_for_once(prompt: Prompt, n: int | None, split: Split) -> None:
    request = Request(prompt, "m", Parameters({}).set("n", n))
    parts = parts_of(request, split)
    assert sorted(index for part in parts for index in part.indexes) == list(range(request.choices))
    assert all(part.request.choices == len(part.indexes) for part in parts)


def test_prompts_and_choices_are_counted_as_in_the_whole() -> None:
    request = Request(TextsPrompt(("a", "b")), "m", Parameters({"n": 2, "seed": 7, "temperature": 1.0}))
    parts = parts_of(request, Split(prompts=True, choices=True))
    assert [(part.request.prompt, part.request.parameters.get("seed"), part.indexes) for part in parts] == [
        (TextPrompt("a"), 7, (0,)),
        (TextPrompt("a"), 8, (1,)),
        (TextPrompt("b"), 7, (2,)),
        (TextPrompt("b"), 8, (3,)),
    ]
    assert {part.request.parameters.get("n") for part in parts} == {None}
    assert {part.request.parameters.get("temperature") for part in parts} == {1.0}
    assert seeds_of(parts) == (7, 8)


def test_choices_apart_keep_a_list_of_prompts_together_and_the_other_way_round() -> None:
    request = Request(TextsPrompt(("a", "b")), "m", Parameters({"n": 2}))
    by_choice = parts_of(request, Split(choices=True))
    assert [(part.request.prompt, part.indexes) for part in by_choice] == [
        (request.prompt, (0, 2)),
        (request.prompt, (1, 3)),
    ]
    by_prompt = parts_of(request, Split(prompts=True))
    assert [part.indexes for part in by_prompt] == [(0, 1), (2, 3)]
    assert [part.request.parameters.get("n") for part in by_prompt] == [2, 2]


def test_what_is_not_split_stays_as_it_is() -> None:
    request = Request(TextPrompt("a"), "m", Parameters({"n": 3, "seed": 1}))
    assert [part.request for part in parts_of(request, NOT_SPLIT)] == [request]
    assert not NOT_SPLIT


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63), 0])
def test_a_seed_stays_one(seed: int) -> None:
    request = Request(TextPrompt("a"), "m", Parameters({"n": 2, "seed": seed}))
    parts = parts_of(request, Split(choices=True))
    assert [list(part.request.parameters.problems()) for part in parts] == [[], []]
    assert len(set(seeds_of(parts))) == 2
