"""The shape of logprobs, told from the recorded answers of real servers."""

from __future__ import annotations

import pytest

from tests.client.cases import Case, recordings
from workbench.runner.endpoint_probe import logprobs_shape


@pytest.mark.parametrize("case", [case for case in recordings() if any(case.entries or [])], ids=str)
def test_a_recording_has_the_shape_of_its_server(case: Case) -> None:
    is_python = case.name.startswith("llamacpppython")
    assert ("parallel arrays" if is_python else "chat format") in logprobs_shape(case.body)


def test_other_shapes_are_told_too() -> None:
    assert logprobs_shape(b'{"choices":[{"text":"a","logprobs": -0.5}]}') == "as one number per chunk"
    assert logprobs_shape(b'{"logprobs":{"top_logprobs":null,"text_offset":[0]}}') == "as parallel arrays"
    assert logprobs_shape(b'{"choices":[{"text":"a","logprobs":null}]}') == ""
