"""The panes share the screen by what is in them."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from textual import events
from textual._compositor import Compositor
from textual._context import active_app
from textual.css.styles import RulesMap
from textual.dom import DOMNode
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets._toast import Toast

from tests.client.loopback import DONE, Received, answering, head
from tests.tui.scripted import SIZES, answer, logprob_event, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.run import Failure
from workbench.tui import painting
from workbench.tui.app import WorkbenchApp
from workbench.tui.editor.field_editor import FieldEditor
from workbench.tui.painting import PaintUpdate
from workbench.workspace.services import Services

ANSWER = b"".join(
    logprob_event(text, logprob) for text, logprob in ((" a", -0.1), (" b", -3.0), (" c", -0.2))
)


def drawn(app: WorkbenchApp) -> list[str]:
    """The rows of the screen as they are drawn."""
    return [strip.text for strip in app.screen._compositor.render_strips(app.screen.size)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_hint_of_an_error_is_seen_however_long_its_message_is(size: tuple[int, int]) -> None:
    failure = Failure("Bad request", "because " * 200 + "\nof this", "Set n to 1.")
    async with workbench(answering(answer(" in")), size) as (app, pilot, _):
        app.main.output.fail(failure, "at local")
        await until(pilot, lambda: any("because because" in row for row in drawn(app)))
        assert any("→ Set n to 1." in row for row in drawn(app))
        assert any("at local" in row for row in drawn(app))


@pytest.mark.parametrize("size", SIZES)
async def test_the_prompt_is_as_tall_as_its_text_up_to_half_the_work_area(size: tuple[int, int]) -> None:
    async with workbench(answering(answer(" in")), size) as (app, pilot, _):
        prompt, work = app.main.prompt, app.main.query_one("#work")
        frame = 2
        assert prompt.outer_size.height == 3 + frame
        app.post_message(events.Paste("one\ntwo\nthree\nfour\n"))
        await until(pilot, lambda: prompt.outer_size.height == 5 + frame)
        app.post_message(events.Paste("more\n" * 200))
        await until(pilot, lambda: prompt.outer_size.height == work.size.height // 2)
        assert app.main.output.outer_size.height >= work.size.height // 2
        prompt.clear()
        await until(pilot, lambda: prompt.outer_size.height == 3 + frame)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("no_colour", [False, True])
async def test_what_is_painted_first_has_the_styles_that_it_has_when_it_is_styled_again(
    size: tuple[int, int], no_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted: list[dict[DOMNode, RulesMap]] = []
    styled_again: list[dict[DOMNode, RulesMap]] = []
    paint = painting._paint

    def checked(compositor: Compositor, regions: list[Region]) -> PaintUpdate:
        if not mounted:
            screen = active_app.get().screen
            mounted.append(rules(screen))
            screen.update_node_styles(animate=False)
            styled_again.append(rules(screen))
        return paint(compositor, regions)

    monkeypatch.setattr(painting, "_paint", checked)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    async with workbench(answering(answer(" in")), size) as (app, _, _):
        assert app.main.prompt in mounted[0]
        assert mounted == styled_again


def rules(screen: Screen[Any]) -> dict[DOMNode, RulesMap]:
    """The rules that each part of a screen was styled by."""
    return {widget: widget.styles.base.get_rules() for widget in screen.walk_children(with_self=True)}


@pytest.mark.parametrize("size", SIZES)
async def test_a_toast_covers_only_the_first_row(size: tuple[int, int]) -> None:
    app = WorkbenchApp(Services.open(dict(os.environ)))
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: app.main.focused is app.main.prompt)
        app.copy_to_clipboard(" about")
        await until(pilot, lambda: 'Copied " about"' in drawn(app)[0])
        (toast,) = app.screen.query(Toast)
        assert (toast.region.y, toast.region.height) == (0, 1)
        assert app.main.footer.region.y == size[1] - 1 and "Run" in drawn(app)[-1]
        await app.leave()


@pytest.mark.parametrize("keys", [("y",), ("i", "y"), ("e", "y"), ("e", "c"), ("p", "y")])
async def test_a_copy_is_said_once(keys: tuple[str, ...]) -> None:
    async with workbench(answering(ANSWER + DONE)) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "right")
        app.clear_notifications()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: bool(app._notifications))
        assert [toast.split()[0] for toast in toasts(app)] == ["Copied"]


@pytest.mark.parametrize("size", [(120, 40), (200, 50)])
async def test_all_fields_are_in_view_beside_the_inspector(size: tuple[int, int]) -> None:
    async with workbench(answering(ANSWER + DONE), size) as (app, pilot, _):
        assert len(app.main.parameters.rows_in_view) == 18
        await until(pilot, lambda: any("F4, then ← or → picks a token" in row for row in drawn(app)))
        if size[0] < 160:
            assert app.main.inspector.content_size.height == 1
        await pilot.press("f3", "0", "full_stop", "5", "enter", "ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "right")
        await until(pilot, lambda: any("logprob -" in row for row in drawn(app)))
        # What the parameters would change stands beside the alternatives, not below them.
        assert len(app.main.parameters.rows_in_view) == 18
        assert any("what if: needs raw logprobs" in row for row in drawn(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize(
    ("field", "format"),
    [
        ("logit_bias", '"text"=BIAS per line.'),
        ("stop", "One entry per line."),
        ("extra", "KEY=JSON per line."),
    ],
)
async def test_the_field_that_is_edited_is_seen_whole_with_its_format(
    size: tuple[int, int], field: str, format: str
) -> None:
    async with workbench(answering(ANSWER + DONE), size) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "right", "f3")
        await until(pilot, lambda: app.main.parameters.go_to(field))
        await pilot.press("enter", "x", "enter", "y", "enter", "z")
        editor = app.main.query_one(FieldEditor)
        await until(pilot, lambda: editor.has_focus and editor.size.height == 3)
        await until(pilot, lambda: field in [name for name, _ in app.main.parameters.rows_in_view])
        panel = app.main.parameters
        rows = app.screen._compositor.render_strips(app.screen.size)[panel.region.y : panel.region.bottom]
        inside = (row.crop(panel.region.x + 1, panel.region.right - 1).text for row in rows)
        text = " ".join(" ".join(inside).split())
        assert all(f" {part} " in text for part in (field, "x y z", format))
        assert all(
            panel.content_region.contains_region(child.region) for child in panel.children if child.display
        )


@pytest.mark.parametrize("size", SIZES)
async def test_no_pane_moves_while_text_streams(size: tuple[int, int]) -> None:
    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + logprob_event(" word") * 400)
        await writer.drain()
        await received.gone.wait()

    async with workbench(handle, size) as (app, pilot, _):
        panes = app.main.prompt, app.main.output, app.main.parameters, app.main.inspector, app.main.legend
        before = [pane.region for pane in panes]
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 400)
        await until(pilot, lambda: "400 tok" in str(app.main.output.border_subtitle))
        assert [pane.region for pane in panes] == before
        await pilot.press("escape")
        await until(pilot, lambda: not app.workspace.runs.is_streaming)
        assert [pane.region for pane in panes] == before
