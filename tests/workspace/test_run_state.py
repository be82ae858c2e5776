"""A run's figures in a few words."""

from __future__ import annotations

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.parameters import Parameters
from workbench.workspace.run_state import figures_of


def test_the_figures_tell_the_prompt_s_perplexity_and_the_answer_s_apart() -> None:
    choice = choice_of(["Once", token_of(" upon", 0.5), token_of(" a", 0.25)])
    choice.echoed = 2
    assert (
        figures_of(run_of(choice), 0) == "done · end of text · 1 tok · ppl 4 · prompt ppl 2 · 0.2 bits/byte"
    )


def test_a_prompt_without_logprobs_has_no_perplexity() -> None:
    choice = choice_of(["Once", token_of(" a", 0.25)])
    choice.echoed = 1
    assert figures_of(run_of(choice), 0) == "done · end of text · 1 tok · ppl 4"


@pytest.mark.parametrize(
    ("reason", "parameters", "figures"),
    [
        ("length", Parameters(), "hit max_tokens"),
        ("stop", Parameters(), "end of text"),
        ("stop", Parameters().set("stop", ("\n",)), "end of text or stop sequence"),
        ("stop", Parameters(extra={"stop_token_ids": [2]}), "end of text or stop sequence"),
        ("content_filter", Parameters(), "content_filter"),
    ],
)
def test_the_figures_say_why_an_answer_ended_as_far_as_the_reason_tells(
    reason: str, parameters: Parameters, figures: str
) -> None:
    choice = choice_of(["Once"])
    choice.finish_reason = reason
    run = run_of(choice)
    run.request = run.request._replace(parameters=parameters)
    assert figures_of(run, 0) == f"done · {figures} · 1 tok"
