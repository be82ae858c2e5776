"""What runs that were sent together have in common."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.run_group import GroupKind, RunGroup, groups_of

WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def sent(
    prompt: str = "Once",
    preset: str = "",
    endpoint: str = "here",
    model: str = "",
    **parameters: ParameterValue,
) -> Run:
    """A run of the group g that has ended."""
    request = Request(TextPrompt(prompt), model, Parameters(parameters))
    return Run(request, endpoint, preset=preset, group="g", started=WHEN, outcome=Outcome.COMPLETE)


@pytest.mark.parametrize(
    ("runs", "kind", "about"),
    [
        (
            [sent(temperature=0.5), sent(preset="greedy", temperature=0)],
            GroupKind.COMPARISON,
            "comparison of current settings, greedy",
        ),
        (
            [sent(preset="greedy"), sent(preset="greedy", endpoint="there")],
            GroupKind.COMPARISON,
            "comparison of greedy @ here, there",
        ),
        (
            [sent(preset="greedy", model=model) for model in ("large", "small", "")],
            GroupKind.COMPARISON,
            "comparison of greedy with large, small, no model",
        ),
        (
            [sent("a", model="large"), sent("b", model="small")],
            GroupKind.PROMPT_SET,
            "2 prompts × current settings with large, small",
        ),
        (
            [sent(preset=f"preset {number}") for number in range(7)],
            GroupKind.COMPARISON,
            "comparison of preset 0, preset 1, preset 2, preset 3 and 3 more",
        ),
        (
            [sent(temperature=value, seed=7) for value in (1, 0, 0.5)],
            GroupKind.SWEEP,
            "sweep of temperature 0, 0.5, 1",
        ),
        (
            [
                run
                for value in range(11)
                for run in (
                    sent(temperature=value / 10, seed=0),
                    sent(temperature=value / 10, top_p=0.5, seed=1),
                )
            ],
            GroupKind.SWEEP,
            "sweep of temperature 0 to 1 (11 values) × top_p unset, 0.5",
        ),
        ([sent(seed=1), sent(seed=2)], GroupKind.SWEEP, "sweep of seed 1, 2"),
        (
            [sent(prompt, preset) for prompt in ("a", "b", "c") for preset in ("", "greedy")],
            GroupKind.PROMPT_SET,
            "3 prompts × current settings, greedy",
        ),
    ],
)
def test_a_group_says_what_was_varied(runs: list[Run], kind: GroupKind, about: str) -> None:
    group = RunGroup("g", runs)
    assert (group.kind, group.about) == (kind, about)


def test_it_says_how_many_runs_there_are_when_they_were_sent_and_how_many_failed() -> None:
    group = RunGroup("g", [sent(seed=1), sent(seed=2)])
    when = f"{WHEN.astimezone():%d %b %H:%M}"
    assert group.summary == f"2 runs · {when}"
    failed = sent(seed=3)
    failed.outcome = Outcome.ERROR
    group.add(failed)
    assert group.summary == f"3 runs · {when} · 1 failed"


def test_it_tells_the_runs_of_a_sweep_apart() -> None:
    runs = [sent(temperature=0.5, seed=1), sent(temperature=0.5, top_p=0.5, seed=1), sent(seed=1)]
    group = RunGroup("g", runs)
    assert [group.settings_of(run) for run in runs] == [
        "temperature 0.5 top_p unset",
        "temperature 0.5 top_p 0.5",
        "temperature unset top_p unset",
    ]
    assert RunGroup("g", [sent(preset="greedy"), sent(seed=1)]).settings_of(runs[0]) == ""


def test_runs_sent_alone_are_in_no_group() -> None:
    alone, other = sent(), sent()
    alone.group, other.group = "", "other"
    pair = [sent(seed=1), sent(seed=2)]
    assert {id: group.runs for id, group in groups_of([pair[0], alone, other, pair[1]]).items()} == {
        "g": pair
    }
