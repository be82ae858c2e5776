"""The parameter panel: look, step, type over, unset, and never lose what was typed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult

from tests.tui.scripted import until
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.json_values import JsonValue
from workbench.domain.parameter_table import FIELDS, ParameterValue, Range
from workbench.domain.parameters import Parameters
from workbench.tui.editor.field_editor import (
    extra_from_text,
    extra_to_text,
    field_from_text,
    field_to_text,
    with_ids,
)
from workbench.tui.main.parameter_panel import ParameterPanel
from workbench.tui.main.parameter_rows import ROWS


class Alone(App[None]):
    """The panel by itself, as wide as the side of the screen."""

    CSS = "ParameterPanel { width: 32; height: 100%; border: round white; }"

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[Parameters] = []
        self.models_requested = self.models_unset = 0

    def compose(self) -> ComposeResult:
        yield ParameterPanel()

    def on_mount(self) -> None:
        self.panel.focus()

    def on_parameter_panel_changed(self, event: ParameterPanel.Changed) -> None:
        self.changes.append(event.parameters)

    def on_parameter_panel_model_requested(self, event: ParameterPanel.ModelRequested) -> None:
        self.models_unset += event.is_unset
        self.models_requested += not event.is_unset

    @property
    def panel(self) -> ParameterPanel:
        return self.query_one(ParameterPanel)

    @property
    def shown(self) -> list[str]:
        strips = self.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip)[:32].rstrip() for strip in strips]

    @property
    def words(self) -> str:
        """Everything shown, as if on one line."""
        return " ".join(" ".join(line.strip("│ ") for line in self.shown).split())

    def row(self, name: str) -> str:
        return next(line.strip("│ ") for line in self.shown if f" {name} " in line)


async def test_an_unset_field_shows_a_dash_and_one_always_sent_what_is_sent() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.pause()
        assert app.row("seed").split() == ["seed", "—"]
        assert app.row("max_tokens").split() == ["max_tokens", "16"]
        assert app.row("stream").split() == ["stream", "on"]


async def test_a_field_that_differs_from_the_preset_is_marked() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.set_parameters(Parameters({"seed": 1, "top_k": 4}), Parameters({"seed": 1}), "precise")
        await pilot.pause()
        assert not app.row("seed").startswith("•")
        assert app.row("top_k").startswith("•")
        assert str(app.panel.border_subtitle) == "preset: precise*"


async def test_two_keys_change_the_temperature() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press("plus", "minus")
        assert app.panel.field == "temperature"
        assert [parameters.get("temperature") for parameters in app.changes] == [1.0, 0.9]


async def test_digits_replace_the_value_and_enter_takes_it() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press(*"0.35", "enter")
        assert app.panel.parameters.get("temperature") == 0.35
        assert app.panel.has_focus


async def test_digits_typed_faster_than_the_focus_moves_are_all_taken() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.go_to("max_tokens")
        for key in ("1", "5", "0", "0", "enter"):
            app.panel.post_message(events.Key(key, key if key.isdigit() else "\r"))
        await pilot.pause()
        await pilot.pause()
        assert app.panel.parameters.get("max_tokens") == 1500


async def test_what_is_being_typed_is_sent_too() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press(*"0.4")
        assert app.panel.parameters.get("temperature") == 0.4


@pytest.mark.parametrize("name", ROWS)
async def test_x_unsets_every_field_and_types_nothing(name: str) -> None:
    app = Alone()
    async with app.run_test(size=(32, 40)) as pilot:
        values: dict[str, ParameterValue] = {"stop": ("a",), "logit_bias": {"1": 2}, "n": 2, "seed": 1}
        app.panel.set_parameters(Parameters(values, {"grammar": "x"}))
        before = app.panel.parameters
        assert app.panel.go_to(name)
        await pilot.press("x")
        await pilot.pause()
        assert app.panel.parameters == (
            replace(before, extra={})
            if name == "extra"
            else before
            if name == "model"
            else before.set(name, None)
        )
        assert app.models_unset == (name == "model")
        await pilot.press("down")
        assert app.panel.field == ROWS[min(ROWS.index(name) + 1, len(ROWS) - 1)], "nothing is being typed"


async def test_x_unsets_and_an_emptied_field_is_unset() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.set_parameters(Parameters({"temperature": 1, "top_p": 0.5}))
        await pilot.press("x", "down", "enter", *["backspace"] * 3, "enter")
        assert dict(app.panel.parameters.values) == {}


async def test_a_wrong_value_keeps_what_was_typed_and_says_why() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press(*"9", "enter")
        await pilot.pause()
        assert app.panel.editor.text == "9"
        assert "temperature must be" in app.words
        with pytest.raises(BadValueError, match="temperature must be"):
            _ = app.panel.parameters
        await pilot.press("escape")
        assert app.panel.parameters.get("temperature") is None


async def test_an_endpoints_limits_hold() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.limits = {"temperature": Range(0, 1)}
        app.panel.set_parameters(Parameters({"temperature": 1.5}))
        await pilot.pause()
        assert app.row("temperature").startswith("✗")
        await pilot.press("plus")
        assert app.panel.parameters.get("temperature") == 1


async def test_stop_texts_are_edited_a_line_each() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.go_to("stop")
        await pilot.press("enter", *"END", "enter", "backslash", "n", "tab")
        assert app.panel.parameters.get("stop") == ("END", "\n")
        await pilot.pause()
        assert '"END" "⏎"' in app.row("stop")


async def test_a_bias_by_token_text_becomes_its_id_and_shows_both() -> None:
    async def tokenizer(text: str) -> tuple[int, ...]:
        return (464,) if text == " the" else (1, 2)

    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.tokenizer = tokenizer
        app.panel.go_to("logit_bias")
        app.panel.action_edit('" the"=-5')
        await pilot.press("tab")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert app.panel.parameters.get("logit_bias") == {"464": -5}
        assert "464(·the)=-5" in app.row("logit_bias")


async def test_a_bias_on_a_text_of_two_tokens_is_refused_and_kept() -> None:
    async def tokenizer(text: str) -> tuple[int, ...]:
        return (1, 2)

    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.tokenizer = tokenizer
        app.panel.go_to("logit_bias")
        app.panel.action_edit('"two words"=1')
        await pilot.press("tab")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert '"two words" is 2 tokens' in app.words
        assert app.panel.editor.text == '"two words"=1'


async def test_a_tokenizer_that_fails_is_told() -> None:
    async def tokenizer(text: str) -> tuple[int, ...]:
        raise WorkbenchError("no tokenizer here")

    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.tokenizer = tokenizer
        app.panel.go_to("logit_bias")
        app.panel.action_edit('"a"=1')
        await pilot.press("tab")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert "no tokenizer here" in app.words


async def test_extra_json_is_edited_a_key_a_line() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.go_to("extra")
        await pilot.press("enter")
        app.panel.editor.text = "mirostat=2\nx y=oops"
        await pilot.press("tab")
        await pilot.pause()
        assert "line 2" in app.words
        app.panel.editor.text = 'mirostat=2\ngrammar="a"\nnothing=null'
        await pilot.press("tab")
        assert dict(app.panel.parameters.extra) == {"mirostat": 2, "grammar": "a", "nothing": None}


async def test_the_cost_of_many_answers_is_told() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.set_parameters(Parameters({"n": 3, "max_tokens": 100}))
        app.panel.prompt_count = 2
        await pilot.pause()
        assert "up to 600 tokens" in app.words


async def test_temperature_and_top_p_together_bring_a_hint() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.set_parameters(Parameters({"temperature": 1, "top_p": 0.5}))
        await pilot.pause()
        assert "temperature or top_p, not both" in app.words


async def test_a_note_marks_its_field_and_is_read_on_its_row() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.notes = {"temperature": "[b]ignored by this endpoint"}
        await pilot.pause()
        assert app.row("temperature").endswith("!")
        assert "[b]ignored by this endpoint" in app.words


async def test_enter_on_the_models_row_asks_for_another() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        app.panel.model = "org/model[beta]"
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.models_requested == 1)
        assert "org/model[beta]" in app.row("model")


async def test_a_click_goes_to_a_field_and_another_edits_it() -> None:
    app = Alone()
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.click("#lines", offset=(5, ROWS.index("seed")))
        assert app.panel.field == "seed"
        await pilot.click("#lines", offset=(5, ROWS.index("seed")), times=2)
        assert app.panel.editor.has_focus


@pytest.mark.parametrize("height", [24, 16])
async def test_every_row_can_be_reached_and_seen_in_a_low_drawer(height: int) -> None:
    app = Alone()
    async with app.run_test(size=(80, height)) as pilot:
        await pilot.press("up")
        for name in ROWS:
            await pilot.pause()
            assert app.panel.field == name
            assert app.row(name)
            await pilot.press("down")


# --- fields as texts -------------------------------------------------------------------------------------


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4).map(tuple))
def test_stop_texts_come_back_from_their_lines(texts: tuple[str, ...]) -> None:
    assert field_from_text(FIELDS["stop"], field_to_text(FIELDS["stop"], texts)) == texts


@given(st.dictionaries(st.integers(0, 10**6).map(str), st.floats(-100, 100), min_size=1))
def test_biases_come_back_from_their_lines(biases: dict[str, float]) -> None:
    value: ParameterValue = biases
    assert field_from_text(FIELDS["logit_bias"], field_to_text(FIELDS["logit_bias"], value)) == biases


json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_extra_json_comes_back_from_its_lines(extra: dict[str, JsonValue]) -> None:
    assert extra_from_text(extra_to_text(extra)) == extra


@pytest.mark.parametrize("text", ["a", "=1", "a=", "a=NaN", "a=1\na=2", '"a=1'])
def test_lines_that_are_no_extra_json_are_refused(text: str) -> None:
    with pytest.raises(BadValueError, match="extra: line"):
        extra_from_text(text)


def test_biases_by_text_take_their_ids() -> None:
    assert with_ids('" a"=1\n7=2', {" a": (5,)}) == "5=1\n7=2"
