"""Scoring on the screen: the prompt, an answer or a file, coloured by how likely the model finds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Label

from tests.client.loopback import serving
from tests.toy_model import ToyModel
from tests.tui.scripted import until, use_parameters, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.colour_modes import Mode, difference_level
from workbench.domain.parameters import Parameters
from workbench.domain.run import Outcome
from workbench.storage.config import load_state
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.column import CompareColumn
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import LinePopup, Question
from workbench.tui.theme.token_colours import TokenStyles
from workbench.tui.tokens.legend import Legend
from workbench.tui.tokens.token_view import TokenView
from workbench.workspace.run_state import figures_of

FINER = r"\s|[^\s]{1,3}"
"""Another tokenizer: blanks by themselves, words in parts."""


async def ended(app: WorkbenchApp, pilot: object, count: int) -> None:
    await until(
        pilot,  # type: ignore[arg-type]
        lambda: len(app.workspace.runs) == count and not app.workspace.runs.is_streaming,
    )


async def test_the_prompt_is_scored_and_the_answer_then_too() -> None:
    async with workbench(ToyModel().handler) as (app, pilot, loopback):
        app.workspace.drafting.set_text("Once 猫 upon")
        app.flows.start("scoring.flow:score")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        await ended(app, pilot, 1)
        run = next(iter(app.workspace.runs))
        choice = run.choices[0]
        assert choice.texts(0, choice.echoed) == ["Once", " 猫", " upon"]
        assert all(choice.alternatives_of(index) for index in (1, 2))
        assert "prompt ppl" in figures_of(run)
        assert "bits/byte" in figures_of(run)
        sent = loopback.requests[-1].json
        assert (sent["prompt"], sent["echo"], sent["max_tokens"]) == ("Once 猫 upon", True, 1)


async def test_a_file_is_scored_whole(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("salt wind\n", "utf-8")
    async with workbench(ToyModel().handler) as (app, pilot, loopback):
        app.flows.start("scoring.flow:score")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        app.screen.query_one("Input").value = str(path)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await ended(app, pilot, 1)
        assert loopback.requests[-1].json["prompt"] == "salt wind\n"


@pytest.mark.parametrize("toy", [ToyModel(refuses_echo=True), ToyModel(ignores_echo=True)])
async def test_an_endpoint_without_echo_is_told_what_is_needed(toy: ToyModel) -> None:
    async with workbench(toy.handler) as (app, pilot, _):
        app.flows.start("scoring.flow:score")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        await ended(app, pilot, 1)
        run = next(iter(app.workspace.runs))
        notes = [*run.notes, run.error.hint if run.error else ""]
        assert any("Scoring needs an endpoint that answers echo: true" in note for note in notes)


async def test_one_token_requests_colour_a_text_after_their_cost_is_agreed_to() -> None:
    toy = ToyModel(refuses_echo=True, has_tokenizer=True)
    async with workbench(toy.handler) as (app, pilot, loopback):
        app.workspace.drafting.set_text("Once salt there 猫")
        use_parameters(app, Parameters({"logprobs": 10}))
        app.flows.start("scoring.flow:score_by_tokens")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        assert [request.path.rpartition("/")[2] for request in loopback.requests] == ["tokenize"]
        question = " ".join(str(label.render()) for label in app.screen.query(Label))
        assert "3 requests, which may generate up to 3 completion tokens" in question
        await pilot.press("y")
        await ended(app, pilot, 1)
        run = next(iter(app.workspace.runs))
        choice = run.choices[0]
        assert choice.texts(0, choice.echoed) == ["Once", " salt", " there", " 猫"]
        assert choice.logprob_of(1) == toy.distribution("Once", 0.0)[" salt"]
        assert choice.logprob_of(2) is None
        assert "1 of 3 tokens not among the 10 listed" in run.notes[0]
        assert "prompt ppl ≥ " in figures_of(run)
        assert "· ≥ " in figures_of(run)
        prompts = [request.json["prompt"] for request in loopback.requests[1:]]
        assert sorted(map(str, prompts), key=len) == ["[0]", "[0, 1]", "[0, 1, 2]"]


async def test_stopped_one_token_requests_leave_what_they_found() -> None:
    toy = ToyModel(has_tokenizer=True, holds_after=1)
    async with workbench(toy.handler) as (app, pilot, _):
        app.workspace.drafting.set_text("Once salt there 猫")
        use_parameters(app, Parameters({"logprobs": 10}))
        app.flows.start("scoring.flow:score_by_tokens")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, toy.held.is_set)
        await until(pilot, lambda: app.workspace.runs.is_streaming)
        await pilot.press("escape")
        await ended(app, pilot, 1)
        (run,) = app.workspace.runs
        assert run.outcome is Outcome.STOPPED
        assert "Scored by 1 of 3 one-token requests" in run.notes[0]


@asynccontextmanager
async def scored_twice(
    own: ToyModel,
    other: ToyModel,
    size: tuple[int, int] = (120, 40),
    colour: Mode = Mode.FITTED,
    *,
    model: str = "",
) -> AsyncIterator[tuple[WorkbenchApp, Pilot[int]]]:
    """An answer of one model, scored by another one: the two of them beside each other on the screen.

    `model` is what the other one is asked for, at its address.
    """
    async with workbench(own.handler, size) as (app, pilot, _), serving(other.handler) as elsewhere:
        app.main.output.view.mode = colour
        app.workspace.drafting.set_text("Once")
        use_parameters(app, Parameters({"max_tokens": 8, "logprobs": 3, "temperature": 0.0}))
        await pilot.press("f5")
        await ended(app, pilot, 1)
        app.flows.start("scoring.flow:score_elsewhere")
        await until(pilot, lambda: isinstance(app.screen, EndpointsScreen))
        named = {"name": elsewhere.base_url, "model": model} if model else {}
        app.screen.dismiss(elsewhere.endpoint(**named))
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await until(pilot, lambda: app.screen.query(CompareColumn).first().view.second is not None)
        yield app, pilot


def shown_on(view: TokenView, styles: TokenStyles) -> list[tuple[str, int]]:
    """The texts of a view's rows with the levels of difference they are drawn in."""
    segments = [segment for y in range(view.size.height) for segment in view.render_line(y)]
    return [
        (segment.text, level)
        for segment in segments
        for level, style in enumerate(styles.differences)
        if segment.style is not None and segment.style.bgcolor == style.bgcolor is not None
    ]


async def test_an_answer_is_shown_as_two_models_find_it() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3, cut=FINER)) as (app, _):
        first, second = (column.run for column in app.screen.query(CompareColumn))
        assert first.choices[0].texts() == second.choices[0].texts()
        assert first.choices[0].text == next(iter(app.workspace.runs)).choices[0].text
        assert list(first.choices[0].logprobs) != list(second.choices[0].logprobs)


async def test_the_second_column_is_the_other_models_and_adopting_it_takes_that_model() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3), model="toy 2") as (app, pilot):
        own, other = (str(column.border_title) for column in app.screen.query(CompareColumn))
        endpoint = app.screen.query(CompareColumn).last().column.endpoint.name
        assert own == f"own model · default model @ {app.workspace.runs[0].endpoint}"
        assert other == f"other model · toy 2 @ {endpoint}"
        parameters = app.workspace.drafting.parameters
        await pilot.press("tab", "a")
        await until(pilot, lambda: app.screen is app.main)
        drafting = app.workspace.drafting
        assert (drafting.endpoint.name, drafting.requested_model) == (endpoint, "toy 2")
        assert drafting.parameters == parameters


async def test_scorings_of_one_text_are_not_called_answers_that_are_the_same() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3)) as (app, pilot):
        await pilot.pause()
        shown = " ".join(str(widget.render()) for widget in app.screen.query("#remarks, DistributionView"))
        assert "bits/byte" in shown
        assert "Press ← or → to select a token" in shown
        assert "same" not in shown
        assert "identical" not in shown


async def test_both_columns_are_coloured_by_the_difference_and_the_legend_tells_whose_surprise_it_is() -> (
    None
):
    async with scored_twice(ToyModel(), ToyModel(shift=3, cut=FINER)) as (app, _):
        columns = list(app.screen.query(CompareColumn))
        second = columns[0].view.second
        assert second is not None
        levels = [difference_level(span.difference) for span in second.spans]
        assert set(levels) - {2, None}
        texts = [columns[0].run.choices[0].text_of(index) for index in range(len(levels))]
        expected = [
            (text, level) for text, level in zip(texts, levels, strict=True) if level not in (2, None)
        ]
        for column in columns:
            drawn = shown_on(column.view, app.token_styles)
            assert "".join(text for text, _ in drawn) == "".join(text for text, _ in expected)
            assert {level for _, level in drawn} == {level for _, level in expected}
        legend = app.screen.query_one(Legend).render_line(0).text
        assert legend.split("  ")[0] == " more surprised, by nats"
        assert [word.strip() for word in legend.split("  ")[1:6]] == [
            "own >2",
            "own >0.5",
            "within 0.5",
            "other >0.5",
            "other >2",
        ]


async def test_keys_go_to_where_the_other_model_would_have_gone_elsewhere() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3, cut=FINER)) as (app, pilot):
        column = app.screen.query(CompareColumn).first()
        second = column.view.second
        assert second is not None
        indices = [index for index, span in enumerate(second.spans) if span.elsewhere is not None]
        assert len(indices) > 1
        column.view.move_cursor(column.run.id, indices[0])
        await pilot.press("right_curly_bracket")
        assert column.view.cursor == (column.run.id, indices[1])
        await pilot.press("left_curly_bracket")
        assert column.view.cursor == (column.run.id, indices[0])


async def test_the_last_row_names_the_keys_to_other_top_choices_only_where_there_are_two_scorings() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3, cut=FINER)) as (app, pilot):
        await pilot.press("escape", "f4")
        listed = app.main.footer.listed
        await until(pilot, lambda: "elsewhere" in [command.id for command in listed()])
        app.main.output.show_runs([])
        await until(pilot, lambda: "elsewhere" not in [command.id for command in listed()])
        assert "token" in [command.id for command in listed()]


async def test_the_main_screen_keeps_the_colours_and_the_inspector_has_both_surprisals() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3, cut=FINER)) as (app, pilot):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        view, run = app.main.output.view, next(iter(app.workspace.runs))
        second = view.second
        assert second is not None
        assert [view.mode, app.main.legend.mode] == [Mode.DIFFERENCE] * 2
        index = next(index for index, span in enumerate(second.spans) if span.elsewhere is not None)
        span, elsewhere = second.spans[index], second.spans[index].elsewhere
        assert elsewhere is not None
        view.focus()
        view.move_cursor(f"{run.id}:0", span.first.start)
        await pilot.pause()
        shown = str(app.main.inspector.body.render())
        own, other = span.surprisals
        assert f"own {own:.2f}" in shown
        assert f"{second.scorer} {other:.2f} nats" in shown
        assert f"difference {span.difference:+.2f}" in shown
        assert f"{second.scorer}'s top choice" in shown
        assert elsewhere.text.strip() in shown
        seen = []
        for _ in Mode:
            await pilot.press("c")
            seen.append(view.mode)
        assert seen[0] is Mode.OFF
        assert seen[-1] is Mode.DIFFERENCE


async def test_the_colours_are_as_before_once_the_answer_scored_is_no_longer_there() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3), colour=Mode.RANK) as (app, pilot):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        output, runs = app.main.output, list(app.workspace.runs)
        output.show_runs(runs)
        assert output.view.mode is Mode.DIFFERENCE
        output.show_runs([])
        assert (output.view.mode, output.view.second) == (Mode.RANK, None)
        assert app.main.legend.mode is Mode.RANK


async def test_the_difference_is_no_colour_of_the_next_start() -> None:
    async with scored_twice(ToyModel(), ToyModel(shift=3)) as (app, _):
        assert load_state(app.services.folders).colour_by is None


async def test_without_a_second_scoring_the_keys_say_what_makes_one() -> None:
    async with workbench(ToyModel().handler) as (app, pilot, _):
        use_parameters(app, Parameters({"max_tokens": 4, "logprobs": 3}))
        await pilot.press("f5")
        await ended(app, pilot, 1)
        await pilot.press("f4", "right_curly_bracket")
        await until(pilot, lambda: any("another model first" in toast for toast in toasts(app)))
