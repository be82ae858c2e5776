"""Which tokens a distribution lists as the likeliest."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.local.logprobs import ModelDistribution


@given(
    st.lists(st.sampled_from([-np.inf, -3.0, 0.0, 0.5, 7.0]), min_size=1, max_size=400),
    st.integers(0, 500),
)
def test_the_likeliest_tokens_come_first_and_of_equals_the_one_with_the_smaller_id(
    logits: list[float], count: int
) -> None:
    logits = [*logits, 0.0]
    expected = sorted(range(len(logits)), key=lambda token: (-logits[token], token))[:count]
    distribution = ModelDistribution(np.array(logits, np.float32))
    assert distribution.likeliest(count) == expected
