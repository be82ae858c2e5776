"""The transcript with a cursor on a token, that goes to what is notable or found."""

from __future__ import annotations

from functools import partial
from typing import Literal

from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea

from workbench.domain.token_levels import Notable, Thresholds
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.tokens import token_cursor
from workbench.tui.tokens.selection import select_tokens
from workbench.tui.tokens.text_search import Search
from workbench.tui.tokens.token_cursor import Cursor, Finder
from workbench.tui.tokens.transcript_view import TranscriptView

NO_TOKEN = "Press ← or → to select a token first."

OTHER = "(other) is the probability of all tokens that are not listed: there is no token to take."
"""Why nothing can be done with the row of the remaining mass."""

UNLISTED = "This token was sampled, but is not among those listed: there is nothing to branch to."


def how_to_select(focused: Widget | None) -> str:
    """The keys that select a token; a text takes the arrows for its own cursor."""
    if isinstance(focused, TextArea):
        return "F4, then ← or → picks a token"
    return "Press ← or → to select a token"


def no_alternative(number: int, count: int) -> str:
    """Why there is nothing to branch with at a number."""
    if not count:
        return "The token has no alternatives: set logprobs to get some."
    listed = "alternative is" if count == 1 else "alternatives are"
    return f"There is no alternative {number}: {count} {listed} listed."


class TokenView(TranscriptView):
    """A transcript with a cursor on one token."""

    BINDINGS = bindings_at(Where.TOKENS)

    class CursorMoved(Message):
        """The cursor is on another token."""

        def __init__(self, view: TokenView, key: str, position: int) -> None:
            super().__init__()
            self.view = view
            self.key = key
            """The section's key."""
            self.position = position
            """The token's place in the section's choice."""

    class Mounted(Message):
        """The view is on a screen: its owner may set what it goes by."""

        def __init__(self, view: TokenView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.thresholds = Thresholds()
        """Which tokens are gone to."""
        self._column: int | None = None
        self._selecting_from: Cursor | None = None

    def on_mount(self) -> None:
        """Tell that the view is there."""
        self.post_message(self.Mounted(self))

    def move_cursor(self, key: str, position: int) -> None:
        """Put the cursor on a token and show it. Raises KeyError for a section or token that is not there."""
        self._move(token_cursor.at(self._transcript, key, position))

    def reveal(self, key: str, position: int) -> None:
        """Scroll to a token that is out of view; the cursor stays. Raises KeyError for what is not there."""
        self._bring(token_cursor.y_of(self._transcript, token_cursor.at(self._transcript, key, position)))

    def _bring(self, y: int) -> None:
        """Scroll to a row that is out of view, with a third of the view above it."""
        top, height = self.scroll_offset.y, max(self.scrollable_content_region.height, 1)
        if y < top or y >= top + height:
            self._scroll_y_to(max(y - height // 3, 0))
            self.is_following = self.scroll_offset.y >= self.max_scroll_y

    def _move(self, cursor: Cursor | None, column: int | None = None, follow: bool = False) -> bool:
        """Put the cursor on a token; nowhere means that there is nowhere to go."""
        if cursor is None:
            return False
        if self.text_selection is not None:
            self.screen.clear_selection()
        old, self._cursor, self._column, self._selecting_from = self._cursor, cursor, column, None
        if old is not None and old.section < len(self._transcript):
            self._forget_tokens(old.section, old.position, old.position + 1)
        self._forget_tokens(cursor.section, cursor.position, cursor.position + 1)
        self._bring(token_cursor.y_of(self._transcript, cursor))
        self.is_following = follow
        key = self._transcript.section(cursor.section).key
        self.post_message(self.CursorMoved(self, key, cursor.position))
        return True

    def leave_token(self) -> None:
        """Have the cursor on no token."""
        if (old := self._cursor) is not None:
            self._cursor = self._column = self._selecting_from = None
            self._forget_tokens(old.section, old.position, old.position + 1)

    def _enter(self) -> bool:
        """Put the cursor on the newest answer's first surprising token, else on its first one."""
        return self._move(token_cursor.notable(self._transcript, partial(self.thresholds.next, "surprising")))

    def action_token(self, step: int) -> None:
        """Go to the token after or before."""
        self._seek(token_cursor.adjacent, step)

    def action_line(self, rows: int) -> None:
        """Go some rows down, or up where negative."""
        if self._cursor is None:
            self._enter()
            return
        column = self._column
        if column is None:
            column = token_cursor.column_of(self._transcript, self._cursor)
        if not self._move(token_cursor.line(self._transcript, self._cursor, rows, column), column):
            self.scroll_relative(y=rows, animate=False, force=True)

    def action_page(self, pages: int) -> None:
        """Go a page down, or up where negative."""
        self.action_line(pages * max(self.scrollable_content_region.height - 1, 1))

    def action_first_token(self) -> None:
        """Go to the first token of all, and to the top."""
        self._move(token_cursor.first(self._transcript))
        self._scroll_y_to(0)

    def action_follow(self) -> None:
        """Go to the last token of all, and follow the end from now on."""
        self._move(token_cursor.last(self._transcript), follow=True)
        self.follow_end()

    def action_notable(self, kind: Notable, step: int) -> None:
        """Go to the next or previous token that is notable."""
        self._seek(partial(self.thresholds.next, kind), step)

    def _seek(self, finder: Finder, step: int) -> None:
        if self._cursor is None:
            self._enter()
        else:
            self._move(token_cursor.seek(self._transcript, self._cursor, step, finder))

    def action_elsewhere(self, step: int) -> None:
        """Go to the next or previous token where the other model's top choice is another one."""
        if self.second is None:
            self.notify("Score the answer with another model first.", timeout=3)
        else:
            self._seek(self.second.next_elsewhere, step)

    async def on_click(self, event: events.Click) -> None:
        """Put the cursor on the token that was clicked."""
        offset = event.get_content_offset(self)
        if offset is None or self.text_selection is not None:
            return
        self._move(token_cursor.token_at(self._transcript, offset.y + self.scroll_offset.y, offset.x))

    # Finding

    async def find(self, text: str) -> bool:
        """Highlight a text in whatever case, and go to the next place that has it; "" ends the search."""
        self.search = Search(text) if text else None
        return await self.find_next()

    async def find_next(self, step: int = 1) -> bool:
        """Go to the next (step 1) or previous (-1) place found, around the end; whether there is one."""
        transcript = self._transcript
        if self.search is None:
            return False
        found = await self.search.next_from(transcript, self._cursor, step)
        is_there = found is not None and found.section < len(transcript)
        if found is None or not is_there or found.position >= transcript.body(found.section).seen:
            return False
        return self._move(found)

    async def action_found(self, step: int) -> None:
        """Go to the next or previous place found."""
        await self.find_next(step)

    def action_select(self, unit: Literal["token", "line", "end"], step: int) -> None:
        """Move the cursor by tokens, rows or to the end of its answer, and select from where this began."""
        transcript, cursor = self._transcript, self._cursor
        if cursor is None:
            return
        to: Cursor | None
        match unit:
            case "token":
                to = token_cursor.seek(transcript, cursor, step, token_cursor.adjacent)
            case "line":
                to = token_cursor.line(transcript, cursor, step, token_cursor.column_of(transcript, cursor))
            case "end":
                to = Cursor(cursor.section, 0 if step < 0 else transcript.body(cursor.section).seen - 1)
        if to is not None:
            begin = self._selecting_from or cursor
            self._move(to)
            self._selecting_from = begin
            self.screen.selections = {self: select_tokens(transcript, *sorted((begin, to)))}
