"""Runs as blocks of the transcript: what differs is shown, and nothing twice."""

from __future__ import annotations

from workbench.domain.choice import ReceivedToken
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Parent, Run
from workbench.tui.tokens.run_sections import sections_of

PROMPT = "The lighthouse keeper opened the door and looked out over the sea"


def run_of(prompt: str, answer: str = " went", parent: Parent | None = None, **values: float) -> Run:
    run = Run(Request(TextPrompt(prompt), "", Parameters(values)), "local", parent=parent)
    run.choice(0).append(ReceivedToken(answer, -0.5), 0.1)
    run.outcome = Outcome.COMPLETE
    return run


def shown(*runs: Run) -> list[str]:
    """What is shown of the prompt of each run."""
    return [sections_of(runs, index)[0].prompt for index in range(len(runs))]


def titles(*runs: Run) -> list[str]:
    return [sections_of(runs, index)[0].title for index in range(len(runs))]


def test_the_same_prompt_is_shown_once_and_then_by_its_end() -> None:
    first, second = shown(run_of(PROMPT), run_of(PROMPT))
    assert first == PROMPT
    assert second == "… the door and looked out over the sea"
    assert PROMPT.endswith(second[1:])


def test_a_branch_shows_where_it_leaves() -> None:
    parent = run_of(PROMPT, " and sighed")
    branch = run_of(f"{PROMPT} and cried", parent=Parent(parent.id, 0, 1, " cried"))
    assert shown(parent, branch)[1] == "… the door and looked out over the sea and cried"
    assert titles(parent, branch)[1].startswith("── 2 · branch of 1 at token 2 with ' cried' · done")


def test_another_prompt_is_shown_from_where_it_differs() -> None:
    assert shown(run_of(PROMPT), run_of("Another beginning"))[1] == "Another beginning"
    changed = PROMPT.replace("over the sea", "on a wall")
    assert shown(run_of(PROMPT), run_of(changed))[1] == "… keeper opened the door and looked out on a wall"


def test_a_long_prompt_is_folded_to_its_last_lines_with_their_count() -> None:
    (text,) = shown(run_of("\n".join(f"line {number}" for number in range(1300))))
    assert text.startswith("… 1,294 lines above\nline 1294\n") and text.endswith("line 1299")
    (line,) = shown(run_of("x" * 100_000))
    assert line == "…" + "x" * 2_000


def test_a_title_says_what_differs_from_the_parent_and_the_figures_once() -> None:
    first = run_of(PROMPT, temperature=0.2, seed=5)
    other = run_of(PROMPT, temperature=1.5, seed=5)
    branch = run_of(PROMPT, parent=Parent(first.id, 0, 0, " x"), temperature=0.3, seed=5)
    branch.preset = "precise"
    first_title, second_title, third_title = titles(first, other, branch)
    assert first_title == "── 1 · seed 5 · done · 1 tok · ppl 1.65"
    assert second_title == "── 2 · temperature 0.2 → 1.5 · seed 5 · done · 1 tok · ppl 1.65"
    assert "branch of 1 at token 1 with ' x' · precise · temperature 0.2 → 0.3 · seed 5 · done" in third_title
    assert [sections_of([first, other, branch], index)[0].figures for index in range(3)] == [""] * 3


def test_a_run_that_streams_has_no_figures_in_its_title_yet() -> None:
    run = run_of(PROMPT)
    run.outcome = None
    assert titles(run) == ["── 1"]


def test_another_seed_is_named_without_the_one_before() -> None:
    assert "── 2 · seed 7 · done" in titles(run_of(PROMPT), run_of(PROMPT, seed=7))[1]
    assert "── 2 · seed 5 → unset · done" in titles(run_of(PROMPT, seed=5), run_of(PROMPT))[1]


def test_a_run_under_another_preset_than_the_one_before_is_named_by_it() -> None:
    first, second = run_of(PROMPT, temperature=1.2, min_p=0.05), run_of(PROMPT, temperature=0.2)
    first.preset, second.preset = "creative", "precise"
    assert titles(first, second)[1].startswith("── 2 · precise · done")
    second.preset = "creative"
    assert titles(first, second)[1].startswith("── 2 · creative · temperature 1.2 → 0.2 · min_p 0.05 → unset")
