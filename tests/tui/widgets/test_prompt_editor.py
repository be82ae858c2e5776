"""The prompt editor keeps every character, whichever way it came in."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual import events
from textual._wrap import compute_wrap_offsets
from textual.app import App, ComposeResult
from textual.expand_tabs import get_tab_widths

from workbench.domain.display import is_control
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import (
    PromptKind,
    TextPrompt,
    TextsPrompt,
    TokenListsPrompt,
    TokensPrompt,
    prompt_to_json,
)
from workbench.tui.editor.exact_document import ExactDocument, shown, tab_widths, wrap_offsets
from workbench.tui.main.prompt_editor import PromptEditor
from workbench.tui.tokenizing import PromptSize
from workbench.workspace.notifications import Notification, SettingsChanged, TextReplaced
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

NASTY = "a\u2028b\rc\x0cd\x85e\x0bf\tg  \r\nh\x1b[31m\x00\u202e\u2029\x1c \n"
nasty = st.text(st.sampled_from(NASTY) | st.characters(exclude_categories=()), max_size=30)


class Alone(App[None]):
    """The editor by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.workspace = Workspace(Services.open(dict(os.environ)))
        self.kinds: list[PromptKind] = []

    def compose(self) -> ComposeResult:
        yield PromptEditor(self.workspace)

    def on_mount(self) -> None:
        self.workspace.subscribe(self.show)

    def show(self, notification: Notification) -> None:
        match notification:
            case TextReplaced(change):
                self.editor.show_change(change)
            case SettingsChanged():
                self.kinds.append(self.workspace.drafting.kind)
                self.editor.describe()

    @property
    def editor(self) -> PromptEditor:
        return self.query_one(PromptEditor)


def subtitle(editor: PromptEditor) -> str:
    return str(editor.border_subtitle)


# --- the document ----------------------------------------------------------------------------------------


@given(nasty)
def test_a_document_gives_back_exactly_what_it_was_given(text: str) -> None:
    assert ExactDocument(text).text == text


@given(nasty, nasty, st.data())
def test_a_replaced_range_comes_back_exactly(text: str, new: str, data: st.DataObject) -> None:
    document = ExactDocument(text)
    first, last = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    ends = document.get_location_from_index(first), document.get_location_from_index(last)
    result = document.replace_range(*ends, new)
    assert document.text == text[:first] + new + text[last:]
    assert result.replaced_text == text[first:last]
    document.replace_range(ends[0], result.end_location, result.replaced_text)
    assert document.text == text


@given(nasty)
def test_a_line_is_shown_without_controls_and_with_its_columns(text: str) -> None:
    assert len(shown(text)) == len(text)
    assert not [character for character in shown(text) if is_control(character) and character != "\u200d"]


@given(st.text(st.sampled_from("ab  漢\t-é")), st.integers(2, 12))
def test_lines_wrap_where_textual_wraps_them(line: str, width: int) -> None:
    sections = get_tab_widths(line, 4)
    expected = compute_wrap_offsets(line, width, 4, precomputed_tab_sections=sections)
    assert wrap_offsets(line, width, 4) == expected
    assert tab_widths(line, 4) == [cells for _, cells in sections if cells]


# --- typing, pasting, undoing ----------------------------------------------------------------------------


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nasty, nasty)
async def test_type_paste_undo_and_redo_keep_every_character(before: str, text: str) -> None:
    app = Alone()
    async with app.run_test() as pilot:
        app.workspace.drafting.set_prompt(TextPrompt(before))
        await pilot.press("x")
        app.post_message(events.Paste(text))
        await pilot.pause()
        assert app.editor.text == app.workspace.drafting.text == f"{before}x{text}"
        assert app.workspace.prompt == TextPrompt(f"{before}x{text}")
        app.editor.select_all()
        assert app.editor.selected_text == f"{before}x{text}"
        app.editor.move_cursor(app.editor.document.end)
        for _ in range(3):
            app.workspace.undo()
        assert app.editor.text == ""
        for _ in range(3):
            app.workspace.redo()
        assert app.editor.text == f"{before}x{text}"


async def test_undoing_a_paste_that_scrolled_does_not_fail() -> None:
    app = Alone()
    async with app.run_test(size=(40, 10)) as pilot:
        app.post_message(events.Paste("line\n" * 50))
        await pilot.pause()
        app.workspace.undo()
        assert (app.editor.text, app.workspace.drafting.text) == ("", "")
        app.workspace.redo()
        await pilot.pause()
        assert app.editor.text == app.workspace.drafting.text == "line\n" * 50


async def test_no_control_character_reaches_the_terminal() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        app.workspace.drafting.set_prompt(TextPrompt(NASTY))
        await pilot.pause()
        drawn = "".join(segment.text for y in range(10) for segment in app.editor.render_line(y))
        assert not [character for character in drawn if is_control(character)]
        assert "␛[31m" in drawn


@pytest.mark.slow
@pytest.mark.parametrize("text", ["lorem ipsum dolor " * 60_000, "a" * 1_000_000, "lorem ipsum\n" * 80_000])
async def test_a_megabyte_is_pasted_whole(text: str) -> None:
    app = Alone()
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(events.Paste(text))
        await pilot.pause()
        assert app.editor.text == text


async def test_a_bracket_is_matched_where_the_text_is_short_enough_to_be_read_through() -> None:
    app = Alone()
    async with app.run_test():
        app.editor.load_text("(a(b)c)")
        assert app.editor.find_matching_bracket("(", (0, 0)) == (0, 6)
        app.editor.load_text("(" + "\n" * 20_000 + ")")
        assert app.editor.find_matching_bracket("(", (0, 0)) is None


# --- kinds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        TextPrompt("a\n---\nb"),
        TextsPrompt(("a", "b\n---", "")),
        TokensPrompt((1, 2)),
        TokenListsPrompt(((1,), (2, 3))),
    ],
)
async def test_every_kind_of_prompt_comes_back(
    prompt: TextPrompt | TextsPrompt | TokensPrompt | TokenListsPrompt,
) -> None:
    app = Alone()
    async with app.run_test():
        app.workspace.drafting.set_prompt(prompt)
        assert app.workspace.prompt == prompt


async def test_switching_the_kind_keeps_one_texts_meaning_and_tells() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        app.workspace.drafting.set_prompt(TextPrompt("a\n---\nb"))
        app.workspace.drafting.set_kind(PromptKind.TEXTS)
        assert prompt_to_json(app.workspace.prompt) == ["a\n---\nb"]
        app.workspace.drafting.set_kind(PromptKind.TEXT)
        assert prompt_to_json(app.workspace.prompt) == "a\n---\nb"
        await pilot.pause()
        assert app.kinds == [PromptKind.TEXTS, PromptKind.TEXT]


async def test_a_wrong_token_id_is_named_with_its_line_and_keeps_the_text() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        app.workspace.drafting.set_kind(PromptKind.TOKEN_LISTS)
        app.editor.insert("1, 2\n3, x")
        await pilot.pause()
        assert "'x' in line 2" in subtitle(app.editor)
        with pytest.raises(BadValueError, match="line 2"):
            _ = app.workspace.prompt
        assert app.editor.text == "1, 2\n3, x"


async def test_a_trailing_blank_is_warned_of() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        await pilot.press("a", "space")
        assert "trailing whitespace" in subtitle(app.editor)
        await pilot.press("b")
        assert subtitle(app.editor) == ""


async def test_the_token_count_is_shown_until_the_text_changes() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        app.editor.set_size(PromptSize(1234, 1234, None))
        assert subtitle(app.editor) == "1,234 tok"
        await pilot.press("a")
        assert subtitle(app.editor) == ""
