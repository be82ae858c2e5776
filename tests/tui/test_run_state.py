"""A run's figures in a few words."""

from __future__ import annotations

from tests.domain.builders import choice_of, piece, run_of
from workbench.tui.run_state import figures_of


def test_the_figures_tell_the_prompt_s_perplexity_and_the_answer_s_apart() -> None:
    choice = choice_of(["Once", piece(" upon", 0.5), piece(" a", 0.25)])
    choice.echoed = 2
    assert figures_of(run_of(choice), 0) == "done · stop · 1 tok · ppl 4 · prompt ppl 2 · 0.2 bits/byte"


def test_a_prompt_without_logprobs_has_no_perplexity() -> None:
    choice = choice_of(["Once", piece(" a", 0.25)])
    choice.echoed = 1
    assert figures_of(run_of(choice), 0) == "done · stop · 1 tok · ppl 4"
