"""The token view, as a person uses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Offset, Region
from textual.message import Message
from textual.pilot import Pilot
from textual.selection import SELECT_ALL, Selection
from textual.strip import Strip
from textual.widget import Widget

from tests.tui.scripted import until
from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.colour_modes import Mode
from workbench.domain.display import visible
from workbench.domain.notable_tokens import Thresholds
from workbench.tui.painting import paint_directly
from workbench.tui.theme.token_colours import NO_COLOURS
from workbench.tui.tokens.row_painter import PaintOptions, paint
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import Section, Transcript

STYLES = replace(
    NO_COLOURS,
    levels=(
        Style(color="color(20)"),
        Style(color="color(21)"),
        Style(color="color(22)"),
        Style(color="color(23)"),
        Style(color="color(24)"),
    ),
    cursor=Style(bold=True, reverse=True, color="color(99)"),
    found=Style(color="color(77)"),
    selected=Style(color="color(66)"),
)
HOSTILE = [
    *["a", " word", "日本", "e\u0301", "\u0301", "\t", "\n", "\r\n", "\x1b[31m", "\x1b]0;x\x07", "\x9b1m"],
    *[
        "\u202e",
        "\u2066",
        "👩\u200d🚀",
        "\u200d",
        "\ud800",
        "[bold]x[/bold]",
        "[/]",
        "\x00",
        "\x7f",
        "🇩🇪",
        "क्षि",
    ],
]


class ViewApp(App[None]):
    """A view alone on the screen, and what it says."""

    token_styles = STYLES
    thresholds = Thresholds()

    def __init__(self) -> None:
        super().__init__()
        self.view = TokenView()
        self.messages: list[Message] = []
        self.followed: list[bool] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_token_view_cursor_moved(self, message: TokenView.CursorMoved) -> None:
        self.messages.append(message)

    def on_mount(self) -> None:
        self.watch(self.view, "is_following", self._note_following, init=False)

    def _note_following(self, is_following: bool) -> None:
        self.followed.append(is_following)


def app_of(view: TokenView) -> ViewApp:
    """The application of a view."""
    assert isinstance(view.app, ViewApp)
    return view.app


@asynccontextmanager
async def shown(
    *sections: Section, size: tuple[int, int] = (40, 10)
) -> AsyncIterator[tuple[TokenView, Pilot[None]]]:
    app = ViewApp()
    async with app.run_test(size=size) as pilot:
        app.view.focus()
        app.view.set_sections(sections)
        await pilot.pause()
        yield app.view, pilot


def choice_of(*texts: str, logprob: float = -0.05) -> Choice:
    choice = Choice(0)
    for text in texts:
        choice.append(ReceivedToken(text, logprob, (Alternative(text, logprob),)), 0.1)
    return choice


def grow(choice: Choice, *texts: str, logprob: float = -0.05) -> None:
    for text in texts:
        choice.append(ReceivedToken(text, logprob), 0.2)


def lines(view: TokenView) -> list[str]:
    found = [view.render_line(y).text.rstrip() for y in range(view.size.height)]
    while found and not found[-1]:
        found.pop()
    return found


def cells_in(view: TokenView, colour: int) -> str:
    """All that is drawn in a colour."""
    return "".join(
        segment.text
        for y in range(view.size.height)
        for segment in view.render_line(y)
        if segment.style and segment.style.color and segment.style.color.number == colour
    )


async def test_a_section_is_its_title_its_prompt_with_the_answer_and_its_figures() -> None:
    section = Section("r", "local · smollm2", "The keeper", choice_of(" opened", " the", " door"), "3 tok")
    async with shown(section) as (view, _):
        assert lines(view) == ["local · smollm2", "The keeper opened the door", "3 tok"]


async def test_sections_are_parted_by_an_empty_row() -> None:
    async with shown(Section("a", choice=choice_of("one")), Section("b", choice=choice_of("two"))) as (
        view,
        _,
    ):
        assert lines(view) == ["one", "", "two"]


async def test_text_that_comes_shows_at_the_next_pull() -> None:
    choice = choice_of("The")
    async with shown(Section("r", "title", "", choice, "…")) as (view, _):
        grow(choice, " door", " is", "\nopen")
        assert view.pull()
        assert lines(view) == ["title", "The door is", "open", "…"]
        assert not view.pull()


async def test_tokens_that_were_replaced_show_anew() -> None:
    choice = choice_of("wrong", " words")
    async with shown(Section("r", choice=choice)) as (view, _):
        choice.replace([ReceivedToken("right", -3.0), ReceivedToken(" ones", -3.0)], [0.1, 0.2])
        assert view.pull()
        assert lines(view) == ["right ones"]
        assert cells_in(view, 24) == "right ones"


async def test_a_choice_that_became_shorter_does_not_break_the_cursor() -> None:
    choice = choice_of("a", "b", "c", "d")
    async with shown(Section("r", choice=choice)) as (view, pilot):
        view.move_cursor("r", 3)
        choice.replace([ReceivedToken("ab")], [0.1])
        view.pull()
        await pilot.press("left", "right")
        assert view.cursor == ("r", 0)


async def test_colours_follow_the_mode() -> None:
    choice = Choice(0)
    choice.append(ReceivedToken("sure", -0.01, (Alternative("sure", -0.01),)), 0.1)
    choice.append(ReceivedToken(" not", -5.0, (Alternative(" so", -0.01),)), 0.1)
    async with shown(Section("r", choice=choice)) as (view, _):
        assert (cells_in(view, 20), cells_in(view, 24)) == ("sure", " not")
        view.mode = Mode.RANK
        assert (cells_in(view, 20), cells_in(view, 24)) == ("sure", " not")
        view.mode = Mode.ENTROPY
        assert cells_in(view, 20) == "sure not"
        view.mode = Mode.OFF
        assert cells_in(view, 20) == ""


async def test_hostile_text_shows_as_escapes_and_is_never_markup() -> None:
    choice = choice_of("\x1b[31m", "[red]x[/red]", "\u202e")
    async with shown(Section("r", "[b]t\x1b", "p\u202e", choice)) as (view, _):
        assert lines(view) == ["[b]t\\e", "p\\u202e\\e[31m[red]x[/red]\\u202e"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=30),
    st.integers(4, 50),
    st.booleans(),
    st.integers(0, 29),
)
def test_no_control_character_is_ever_in_a_segment(
    texts: list[str], width: int, whitespace: bool, cursor: int
) -> None:
    transcript = Transcript()
    transcript.resize(width, None, 1.0, 1000)
    section = Section("r", "".join(texts), "".join(texts), choice_of(*texts), texts[0])
    transcript.put(0, [section], 1.0, 1000)
    options = PaintOptions(Style(), STYLES, whitespace=whitespace)
    for y in range(transcript.height):
        row = transcript.row(y)
        assert row is not None
        strip = paint(transcript, row, options, cursor=min(cursor, len(texts) - 1), selected=(0, 5))
        assert strip.cell_length == sum(segment.cell_length for segment in strip) == width
        assert visible(strip.text) == strip.text
        assert not set(strip.text) & {"\n", "\t"}


async def test_tabs_show_to_their_stops_and_blanks_as_glyphs_on_demand() -> None:
    async with shown(Section("r", choice=choice_of("a", "\tb", " c", "\n", "d"))) as (view, _):
        assert lines(view) == ["a   b c", "d"]
        view.whitespace = True
        assert lines(view) == ["a→  b·c↵", "d"]


async def test_boundaries_underline_every_other_token() -> None:
    async with shown(Section("r", choice=choice_of("a", "b", "c"))) as (view, _):
        view.boundaries = True
        drawn = [segment.text for segment in view.render_line(0) if segment.style and segment.style.underline]
        assert drawn == ["b"]


async def test_bytes_that_only_begin_a_character_show_as_hex_until_it_is_whole() -> None:
    choice = choice_of("It is ")
    async with shown(Section("r", choice=choice)) as (view, _):
        choice.append(ReceivedToken("", -0.5, raw=b"\xe2\x80"), 0.3)
        view.pull()
        assert lines(view) == ["It is \\xe2\\x80"]
        choice.append(ReceivedToken("…", -0.1, raw=b"\xa6"), 0.4)
        view.pull()
        assert lines(view) == ["It is …"]


async def test_bytes_at_the_end_of_a_full_row_get_a_row_of_their_own() -> None:
    choice = choice_of("x" * 36)
    async with shown(Section("r", "", "", choice, "done")) as (view, _):
        choice.append(ReceivedToken("", -0.5, raw=b"\xe2\x80"), 0.3)
        view.pull()
        assert lines(view) == ["x" * 36, "\\xe2\\x80", "done"]


async def test_the_cursor_goes_by_token_across_sections_and_says_so() -> None:
    sections = Section("a", choice=choice_of("one", " two")), Section("b", "t", "", choice_of("three"))
    async with shown(*sections) as (view, pilot):
        await pilot.press("left")
        assert view.cursor == ("b", 0)
        await pilot.press("left", "left")
        assert view.cursor == ("a", 0)
        await pilot.press("left", "right", "right")
        assert view.cursor == ("b", 0)
        assert isinstance(pilot.app, ViewApp)
        moves = [(m.key, m.position) for m in pilot.app.messages if isinstance(m, TokenView.CursorMoved)]
        assert moves == [("b", 0), ("a", 1), ("a", 0), ("a", 1), ("b", 0)]


async def test_the_token_under_the_cursor_is_drawn_bold_and_reversed() -> None:
    async with shown(Section("r", choice=choice_of("one", " two", " three"))) as (view, _):
        view.move_cursor("r", 1)
        assert cells_in(view, 99) == " two"
        view.move_cursor("r", 2)
        assert cells_in(view, 99) == " three"


async def test_a_cursor_on_a_token_without_text_is_seen() -> None:
    async with shown(Section("r", choice=choice_of("one", "", " two", ""))) as (view, _):
        view.move_cursor("r", 1)
        assert cells_in(view, 99) == " "
        view.move_cursor("r", 3)
        assert cells_in(view, 99) == " "


async def test_a_cursor_on_a_token_that_is_part_of_a_joined_character_marks_all_of_it() -> None:
    async with shown(Section("r", choice=choice_of("go ", "👩", "\u200d", "🚀", "!"))) as (view, _):
        for position in (1, 2, 3):
            view.move_cursor("r", position)
            assert cells_in(view, 99) == "👩\u200d🚀"


async def test_the_cursor_goes_by_line_and_keeps_its_column() -> None:
    texts = ("aaaa", " bbbb", " cccc", "\n", "x", "\n", "dddd", " eeee", " ffff")
    async with shown(Section("r", choice=choice_of(*texts))) as (view, pilot):
        view.move_cursor("r", 2)
        await pilot.press("down")
        assert view.cursor == ("r", 5)
        await pilot.press("down")
        assert view.cursor == ("r", 8)
        await pilot.press("up", "up")
        assert view.cursor == ("r", 2)


async def test_home_end_and_pages_move_the_cursor_far() -> None:
    choice = choice_of(*(f"line {number}\n" for number in range(100)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        await pilot.press("home")
        assert (view.cursor, view.scroll_offset.y) == (("r", 0), 0)
        await pilot.press("pagedown")
        assert view.cursor == ("r", 9)
        await pilot.press("pageup")
        assert view.cursor == ("r", 0)
        await pilot.press("end")
        assert view.cursor == ("r", 99)
        assert view.is_following


async def test_brackets_go_to_surprising_tokens_by_a_threshold() -> None:
    choice = choice_of("a", "b", "c", "d")
    choice.replace(
        [
            ReceivedToken("a", -3.0),
            ReceivedToken("b", -0.1),
            ReceivedToken("c", -9.0),
            ReceivedToken("d", -0.1),
        ],
        [0.0] * 4,
    )
    async with shown(Section("r", choice=choice)) as (view, pilot):
        view.move_cursor("r", 3)
        await pilot.press("left_square_bracket")
        assert view.cursor == ("r", 2)
        app_of(view).thresholds = Thresholds(surprising=5.0)
        await pilot.press("left_square_bracket")
        assert view.cursor == ("r", 2)
        app_of(view).thresholds = Thresholds(surprising=1.0)
        await pilot.press("left_square_bracket")
        assert view.cursor == ("r", 0)
        await pilot.press("right_square_bracket")
        assert view.cursor == ("r", 2)


async def test_keys_go_to_tokens_that_were_not_first_and_to_low_coverage() -> None:
    listed = (Alternative("a", -0.1), Alternative("b", -2.5))
    choice = Choice(0)
    for received in (
        ReceivedToken("a", -0.1, listed),
        ReceivedToken("b", -2.5, listed),
        ReceivedToken("c", -3.0, (Alternative("c", -3.0),)),
    ):
        choice.append(received, 0.1)
    async with shown(Section("r", choice=choice)) as (view, pilot):
        view.move_cursor("r", 0)
        await pilot.press("full_stop")
        assert view.cursor == ("r", 1)
        await pilot.press("greater_than_sign")
        assert view.cursor == ("r", 2)
        await pilot.press("comma")
        assert view.cursor == ("r", 1)


async def test_a_click_puts_the_cursor_on_a_token() -> None:
    async with shown(Section("r", "title", "", choice_of("日本", " two", " three"))) as (view, pilot):
        await pilot.click(TokenView, offset=(3, 1))
        assert view.cursor == ("r", 0)
        await pilot.click(TokenView, offset=(5, 1))
        assert view.cursor == ("r", 1)
        await pilot.click(TokenView, offset=(3, 0))
        assert view.cursor == ("r", 1)


async def test_the_end_is_followed_until_the_reader_scrolls_and_again_from_the_end_on() -> None:
    choice = choice_of(*(f"line {number}\n" for number in range(50)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        assert view.scroll_offset.y == view.max_scroll_y > 0
        view.scroll_up(animate=False)
        await pilot.pause()
        before = lines(view)
        grow(choice, *["more\n"] * 20)
        view.pull()
        assert lines(view) == before
        await pilot.press("end")
        grow(choice, "last")
        view.pull()
        assert lines(view)[-1] == "last"
        await pilot.pause()
        assert isinstance(pilot.app, ViewApp)
        assert pilot.app.followed == [False, True]


async def test_a_move_of_the_cursor_releases_the_view() -> None:
    choice = choice_of(*(f"line {number}\n" for number in range(50)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        await pilot.press("left")
        before = view.scroll_offset
        grow(choice, *["more\n"] * 20)
        view.pull()
        assert view.scroll_offset == before
        assert not view.is_following


async def test_what_grows_above_does_not_move_what_is_read() -> None:
    above, below = choice_of("above\n"), choice_of(*(f"line {number}\n" for number in range(50)))
    async with shown(Section("a", choice=above), Section("b", choice=below)) as (view, pilot):
        view.scroll_to(y=20, animate=False)
        await pilot.pause()
        before = lines(view)
        grow(above, *["more\n"] * 7)
        view.pull()
        assert lines(view) == before


async def test_a_section_removed_above_does_not_move_what_is_read() -> None:
    sections = [
        Section(key, choice=choice_of(*(f"{key} {number}\n" for number in range(50)))) for key in "abcd"
    ]
    async with shown(*sections) as (view, pilot):
        view.scroll_to(y=120, animate=False)
        await pilot.pause()
        read = lines(view)
        assert read[0] == "c 16"
        view.set_sections(sections[1:])
        assert lines(view) == read


async def test_resize_keeps_the_place() -> None:
    choice = choice_of(*(f" word{number}" for number in range(2000)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        view.scroll_to(y=100, animate=False)
        await pilot.pause()
        first = lines(view)[0].split()[0]
        await pilot.resize_terminal(31, 12)
        await pilot.pause()
        assert first in lines(view)[0].split()
        assert not view.is_following


async def test_resize_keeps_following() -> None:
    choice = choice_of(*(f" word{number}" for number in range(2000)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        await pilot.resize_terminal(25, 6)
        await pilot.pause()
        assert lines(view)[-1].split()[-1] == "word1999"


async def test_a_long_text_settles_in_the_background_to_what_a_full_wrap_gives() -> None:
    choice = choice_of(*(f" wörd{number}" for number in range(60_000)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        assert lines(view)[-1].split()[-1] == "wörd59999"
        while not view.is_settled:
            await pilot.pause(0.01)
        whole = Transcript()
        whole.resize(view.scrollable_content_region.width, None, 60.0, 1000)
        whole.put(0, view.sections, 60.0, 1000)
        assert view.virtual_size.height == whole.height
        assert lines(view)[-1].split()[-1] == "wörd59999"


async def test_another_theme_repaints_in_place() -> None:
    choice = choice_of(*(f"line {number}\n" for number in range(50)))
    async with shown(Section("r", choice=choice)) as (view, pilot):
        view.scroll_to(y=20, animate=False)
        await pilot.pause()
        before = lines(view)
        other = Style(color="color(55)")
        app_of(view).token_styles = replace(STYLES, levels=(other, other, other, other, other))
        view.refresh()
        assert lines(view) == before
        assert cells_in(view, 55).startswith("line 20")


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((0, 1), (4, 1), "a\tb\r"),
        ((1, 1), (6, 1), "\tb\r\n日"),
        ((2, 1), (12, 1), "b\r\n日本👩\u200d🚀\x1b!"),
        ((7, 1), (8, 1), "👩\u200d🚀"),
        ((3, 0), (1, 1), "le\na"),
    ],
)
async def test_a_selection_copies_the_exact_text_of_whole_characters(
    start: tuple[int, int], end: tuple[int, int], expected: str
) -> None:
    choice = choice_of("\r\n日", "本", "👩\u200d🚀\x1b!")
    async with shown(Section("r", "title", "a\tb", choice)) as (view, _):
        view.screen.selections = {view: Selection(Offset(*start), Offset(*end))}
        assert view.selected_text() == expected


async def test_selecting_all_copies_every_block() -> None:
    async with shown(Section("r", "title", "The ", choice_of("door\u2028", " is\x85"), "2 tok")) as (view, _):
        view.screen.selections = {view: SELECT_ALL}
        assert view.selected_text() == "title\nThe door\u2028 is\x85\n2 tok"


async def test_a_drag_of_the_mouse_selects_what_it_passes() -> None:
    async with shown(Section("r", choice=choice_of("one", " \x1b", " two", "\nthree"))) as (view, pilot):
        await pilot.mouse_down(TokenView, offset=(1, 0))
        await pilot.hover(TokenView, offset=(3, 1))
        await pilot.mouse_up(TokenView, offset=(3, 1))
        assert view.selected_text() == "ne \x1b two\nthre"
        assert cells_in(view, 66) == "ne \\e two thre"
        assert view.cursor is None


async def test_keys_select_whole_tokens() -> None:
    async with shown(Section("r", choice=choice_of("one", " two", " three", " four"))) as (view, pilot):
        view.move_cursor("r", 1)
        await pilot.press("shift+right")
        assert view.selected_text() == " two three"
        await pilot.press("shift+left", "shift+left")
        assert view.selected_text() == "one two"


async def test_find_highlights_all_and_goes_from_one_to_the_next() -> None:
    choice = choice_of("The sea", ". A sea", ". see", ". SEA")
    async with shown(Section("r", choice=choice)) as (view, pilot):
        assert await view.find("sea")
        assert view.cursor == ("r", 0)
        await pilot.press("n")
        assert view.cursor == ("r", 1)
        await pilot.press("n", "n")
        assert view.cursor == ("r", 0)
        await pilot.press("N")
        assert view.cursor == ("r", 3)
        view.move_cursor("r", 2)
        assert cells_in(view, 77) == "seaseaSEA"
        assert not await view.find("[")
        assert not await view.find("")


async def test_find_sees_what_goes_over_the_end_of_a_row() -> None:
    async with shown(Section("r", choice=choice_of("x" * 37, "needle"))) as (view, _):
        assert await view.find("xneed")
        view.move_cursor("r", 1)
        view.move_cursor("r", 0)
        assert "need" in cells_in(view, 77)


async def test_find_looks_through_a_long_answer_in_slices_and_over_their_edges() -> None:
    # The second place lies across an edge of the slices, which are counted from the end of the first one.
    texts = ("needle-needle", *["x" * 89] * 736, "x" * 21, "needle", "-needle", *["y" * 100] * 2_000)
    choice = choice_of(*texts, "needle-needle.")
    assert choice.start_of(738) < 13 + 65_536 < choice.start_of(740)
    others = 0

    async def count() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    async with shown(Section("r", choice=choice)) as (view, _):
        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        before = others
        assert not await view.find("absent")
        assert others - before >= choice.length // 65_536
        counting.cancel()
        assert await view.find("needle-needle")
        found = [view.cursor]
        for step in (1, 1, 1, -1, -1, -1):
            assert await view.find_next(step)
            found.append(view.cursor)
        assert found == [("r", position) for position in (0, 738, 2740, 0, 2740, 738, 0)]


async def test_a_search_ends_where_all_that_it_looks_through_is_removed() -> None:
    async with shown(Section("r", choice=choice_of(*["x" * 100] * 2_000))) as (view, _):
        searching = asyncio.create_task(view.find("absent"))
        await asyncio.sleep(0)
        view.set_sections([])
        assert not await searching


async def test_a_section_is_updated_by_its_key() -> None:
    choice = choice_of("text")
    async with shown(Section("r", "running", "", choice)) as (view, _):
        view.update_section(Section("r", "done", "", choice, "1 tok"))
        assert lines(view) == ["done", "text", "1 tok"]
        with pytest.raises(KeyError):
            view.update_section(Section("other"))


async def test_dimmed_sections_and_prefixes_are_drawn_dim() -> None:
    async with shown(
        Section("a", choice=choice_of("one", " two"), dim_before=1), Section("b", choice=choice_of("three"))
    ) as (view, _):
        view.update_section(replace(view.sections[1], dimmed=True))
        dim = "".join(s.text for y in (0, 1, 2) for s in view.render_line(y) if s.style and s.style.dim)
        assert dim == "onethree"


async def test_a_single_line_of_a_megabyte_scrolls() -> None:
    async with shown(Section("r", choice=choice_of("x" * 1_000_000, " end"))) as (view, pilot):
        assert lines(view)[-1].endswith("end")
        view.scroll_to(y=3000, animate=False)
        await pilot.pause()
        assert lines(view)[0] == "x" * 38


async def test_a_border_and_padding_are_drawn_around_the_same_rows() -> None:
    class Bordered(ViewApp):
        CSS = "TokenView { border: round red; padding: 0 1; }"

    app = Bordered()
    async with app.run_test(size=(40, 8)) as pilot:
        choice = choice_of("日本", " two")
        app.view.set_sections([Section("r", "title", "", choice)])
        await pilot.pause()
        grow(choice, " three")
        app.view.pull()
        await pilot.pause()
        drawn = [strip.text for strip in app.view.render_lines(Region(0, 0, 40, 8))]
        assert drawn[0].startswith("╭──")
        assert drawn[2].startswith("│ 日本 two three ")
        await pilot.click(TokenView, offset=(8, 2))
        assert app.view.cursor == ("r", 1)


async def test_another_background_of_a_pane_shows_behind_every_row() -> None:
    async with shown(Section("r", choice=choice_of("one", " two"))) as (view, pilot):
        view.screen.styles.background = "#123456"
        view.styles.background = "transparent"
        await pilot.pause()
        first = view.render_lines(Region(0, 0, 40, 1))[0]
        assert {
            str(segment.style.bgcolor.name) for segment in first if segment.style and segment.style.bgcolor
        } == {"#123456"}


async def test_another_prefix_dimmed_paints_only_the_rows_it_reaches_anew() -> None:
    choice = choice_of(*["a word of a line..\n"] * 20)
    async with shown(Section("r", choice=choice, dim_before=4, marked=4)) as (view, _):
        before = {y: view._kept(y) for y in range(20)}
        view.update_section(Section("r", choice=choice, dim_before=7, marked=9))
        kept = [y for y in range(20) if view._kept(y) is before[y]]
        assert {0, 1, 2, 13, 19} <= set(kept)
        assert not {4, 5, 6, 9} & set(kept)
        drawn = [view._kept(y) for y in range(20)]
        view.notify_style_update()
        assert drawn == [view._kept(y) for y in range(20)]


async def test_a_new_row_is_painted_without_those_above_it_and_without_the_scrollbar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paint_directly()
    choice = choice_of("one")
    async with shown(Section("r", "title", "", choice, "figures")) as (view, pilot):
        painted = list[tuple[Widget, range]]()
        await until(pilot, lambda: not view.screen._compositor._dirty_regions)
        for widget in (view, view.vertical_scrollbar):

            def note(crop: Region, widget: Widget = widget) -> list[Strip]:
                painted.append((widget, crop.line_range))
                return type(widget).render_lines(widget, crop)

            monkeypatch.setattr(widget, "render_lines", note)
        grow(choice, "\ntwo")
        view.pull()
        await until(pilot, lambda: bool(painted))
        assert painted == [(view, range(1, 4))]
