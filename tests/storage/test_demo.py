"""The recorded run that ships with the program."""

from __future__ import annotations

from workbench.domain.run import Outcome
from workbench.storage.session_file import load_demo


def test_the_demo_is_a_whole_run_with_alternatives_for_every_token() -> None:
    run = load_demo()
    assert run.outcome is Outcome.COMPLETE
    choice = run.choices[0]
    assert len(choice) == 110
    assert all(len(token.alternatives) >= 5 and token.logprob is not None for token in choice)
