"""Scoring on the screen: the prompt, an answer or a file, coloured by how likely the model finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.loopback import serving
from tests.toy_model import ToyModel
from tests.tui.scripted import until, use_parameters, workbench
from workbench.domain.request import Parameters
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.column import CompareColumn
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.line_popup import LinePopup
from workbench.tui.popups.picker import Picker
from workbench.workspace.run_state import figures_of


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
        assert all(choice.alternatives_of(place) for place in (1, 2))
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
        told = [*run.notes, run.error.hint if run.error else ""]
        assert any("Scoring needs an endpoint that answers echo: true" in one for one in told)


async def test_an_answer_is_shown_as_two_models_find_it() -> None:
    other = ToyModel(shift=3, cut=r"\s|[^\s]{1,3}")
    async with workbench(ToyModel().handler) as (app, pilot, _), serving(other.handler) as elsewhere:
        app.workspace.drafting.set_text("Once")
        use_parameters(app, Parameters({"max_tokens": 4, "logprobs": 3, "temperature": 0.0}))
        await pilot.press("f5")
        await ended(app, pilot, 1)
        app.flows.start("scoring.flow:score_elsewhere")
        await until(pilot, lambda: isinstance(app.screen, EndpointsScreen))
        app.screen.dismiss(elsewhere.endpoint())
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        first, second = (column.run for column in app.screen.query(CompareColumn))
        assert first.choices[0].texts() == second.choices[0].texts()
        assert first.choices[0].text == next(iter(app.workspace.runs)).choices[0].text
        assert list(first.choices[0].logprobs) != list(second.choices[0].logprobs)
