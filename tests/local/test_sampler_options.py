"""From a request's parameters to how tokens are chosen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.local.sampler_options import SamplerOptions, engine_seed, read_sampling


def test_unset_is_neutral_and_never_the_engines_default() -> None:
    sampling = read_sampling({})
    assert sampling == SamplerOptions()
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p) == (1, 0, 1, 0)
    assert (sampling.repetition_penalty, sampling.frequency_penalty, sampling.presence_penalty) == (1, 0, 0)
    assert not sampling.sees_past_tokens


def test_set_fields_and_those_that_pass_through_are_taken_over() -> None:
    values = {"repetition_penalty": 1.2, "top_k": 40, "max_tokens": 3, "mirostat": 2, "cache_prompt": True}
    assert read_sampling(values) == SamplerOptions(repetition_penalty=1.2, top_k=40, mirostat=2)


def test_the_greatest_biases_are_final_and_finite() -> None:
    sampling = read_sampling({"logit_bias": {"5": -100, "6": 100, "7": 3}})
    assert sampling.logit_bias == ((5, -1e9), (6, 1e9), (7, 3))


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_seed_repeats_and_is_never_the_engines_random_value(seed: int) -> None:
    assert engine_seed(seed, 0) == engine_seed(seed, 0)
    assert 0 <= engine_seed(seed, 0) < 2**32 - 1


def test_candidates_and_seeds_differ() -> None:
    seeds = {engine_seed(seed, candidate) for seed in (-1, 0, 1, 2**32, 2**32 + 1) for candidate in range(9)}
    assert len(seeds) == 45


def test_without_a_seed_each_choice_has_its_own() -> None:
    assert engine_seed(None, 0) != engine_seed(None, 0)
