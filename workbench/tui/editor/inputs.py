"""A text area and a line input that keep every character and never interpret it."""

from __future__ import annotations

from rich.highlighter import Highlighter
from rich.text import Text
from textual.expand_tabs import expand_text_tabs_from_widths
from textual.strip import Strip
from textual.widgets import Input, TextArea
from textual.widgets.text_area import DocumentNavigator, Location

from workbench.tui.editor.exact_document import ExactDocument, FastWrappedDocument, ShownLines, shown

_GIANT = 2000
"""Characters from which a line is drawn row by row; Textual divides the whole line for each of its rows."""
_MATCHED = 20_000
"""Characters up to which matching brackets are searched; the search reads the text at every cursor move."""


class ExactTextArea(TextArea):
    """A text area that keeps every character, and draws control characters as glyphs."""

    def _set_document(self, text: str, language: str | None) -> None:
        document = ExactDocument(text)
        self.document = document
        self._highlight_query = None
        self.wrapped_document = FastWrappedDocument(ShownLines(document), tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self._build_highlight_map()
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """Return the location of the matching bracket; None if there is none or the text is too long."""
        if len(self.document.text) > _MATCHED:
            return None
        return super().find_matching_bracket(bracket, search_from)

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn."""
        return Text(shown(self.document.get_line(line_index)), end="", no_wrap=True)

    def _render_line(self, y: int) -> Strip:
        try:
            index, section = self.wrapped_document._offset_to_line_info[y + self.scroll_offset.y]
        except IndexError:
            return super()._render_line(y)
        line = self.document.get_line(index)
        if len(line) < _GIANT:
            return super()._render_line(y)
        offsets = self.wrapped_document.get_offsets(index)
        begin = offsets[section - 1] if section else 0
        end = offsets[section] if section < len(offsets) else len(line)
        return self._render_part(index, begin, end, end == len(line))

    def _render_part(self, index: int, begin: int, end: int, is_last: bool) -> Strip:
        theme = self._theme
        base = self.rich_style if theme.base_style is None else theme.base_style
        text = Text(shown(self.document.get_line(index)[begin:end]) + " " * is_last, end="", no_wrap=True)
        cursor_row, cursor_column = self.selection.end
        on_line = cursor_row == index and self.highlight_cursor_line
        line_style = theme.cursor_line_style if on_line else None
        if line_style:
            text.stylize(line_style)
        (top, left), (bottom, right) = sorted(self.selection)
        if theme.selection_style and top <= index <= bottom:
            first = max(left - begin, 0) if top == index else 0
            last = max(right - begin, 0) if bottom == index else len(text)
            text.stylize(theme.selection_style, first, last)
        if cursor_row == index and self._draw_cursor and theme.cursor_style:
            column = cursor_column - begin
            if 0 <= column < len(text):
                text.stylize(theme.cursor_style, column, column + 1)
        if "\t" in text.plain:
            before = self.document.get_line(index).count("\t", 0, begin)
            text = expand_text_tabs_from_widths(text, self.wrapped_document.get_tab_widths(index)[before:])
        strip = Strip(text.render(self.app.console), cell_length=text.cell_len)
        width = self.scrollable_content_region.size.width
        return strip.extend_cell_length(width, line_style or base).apply_style(base)


MOST = 100_000
"""The most characters of a line; Textual measures the whole line at every key."""


class _Glyphs(Highlighter):
    def highlight(self, text: Text) -> None:
        """Replace each control character by one glyph, so that the cursor's column stays the same."""
        text.plain = shown(text.plain)


_GLYPHS = _Glyphs()


class LineInput(Input):
    """Textual's input, keeping its value exactly and drawing control characters as glyphs."""

    DEFAULT_CSS = """
    LineInput { border: none; height: 1; padding: 0; background: $surface; }
    LineInput:focus { border: none; }
    """

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        select_on_focus: bool = True,
        name: str | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(
            value,
            placeholder=shown(placeholder),
            highlighter=_GLYPHS,
            # A longer initial value can still be shortened.
            max_length=max(MOST, len(value)),
            select_on_focus=select_on_focus,
            name=name,
            id=id,
        )

    def restricted(self) -> None:
        """Show why nothing was inserted."""
        self.notify(f"A line has at most {MOST:,} characters.", timeout=3)
