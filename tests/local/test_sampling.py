"""From a request's parameters to the engine's body."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.request import Parameters
from workbench.local.sampling import engine_body, engine_seed


def test_unset_is_neutral_and_never_the_engines_default() -> None:
    body = engine_body([1, 2], Parameters(), 7, 0)
    assert body == {
        "prompt": [1, 2],
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "repeat_penalty": 1.0,
        "repeat_last_n": 18,
        "max_tokens": 16,
        "seed": 7,
        "n_probs": 0,
        "stream": True,
        "return_progress": True,
        "timings_per_token": True,
        "cache_prompt": False,
    }


def test_set_fields_reach_the_engine_under_its_names() -> None:
    body = engine_body([1], Parameters({"repetition_penalty": 1.2, "top_k": 40, "max_tokens": 3}), 7, 5)
    assert (body["repeat_penalty"], body["top_k"], body["max_tokens"], body["n_probs"]) == (1.2, 40, 3, 5)


def test_stop_texts_are_not_passed_down() -> None:
    assert "stop" not in engine_body([1], Parameters({"stop": ("a",)}), 7, 0)


def test_the_greatest_biases_are_final_and_finite() -> None:
    body = engine_body([1], Parameters({"logit_bias": {"5": -100, "6": 100, "7": 3}}), 7, 0)
    assert body["logit_bias"] == [[5, -1e9], [6, 1e9], [7, 3]]


def test_the_engines_own_fields_come_last() -> None:
    assert engine_body([1], Parameters({}, {"cache_prompt": True}), 7, 0)["cache_prompt"] is True


def test_long_prompts_may_come_from_the_cache() -> None:
    assert engine_body([1] * 200, Parameters(), 7, 0)["cache_prompt"] is True


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_seed_repeats_and_is_never_the_engines_random_value(seed: int) -> None:
    assert engine_seed(seed, 0) == engine_seed(seed, 0)
    assert 0 <= engine_seed(seed, 0) < 2**32 - 1


def test_candidates_and_seeds_differ() -> None:
    seeds = {engine_seed(seed, candidate) for seed in (-1, 0, 1, 2**32, 2**32 + 1) for candidate in range(9)}
    assert len(seeds) == 45


def test_without_a_seed_each_choice_has_its_own() -> None:
    assert engine_seed(None, 0) != engine_seed(None, 0)
