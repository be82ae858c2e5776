"""The transcript view with a token cursor, which moves by token, to notable tokens and to search matches."""

from __future__ import annotations

from functools import partial
from typing import Literal

from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea

from workbench.domain.notable_tokens import Notable, Thresholds
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.tokens import token_cursor
from workbench.tui.tokens.selection import select_tokens
from workbench.tui.tokens.text_search import Search
from workbench.tui.tokens.token_cursor import Cursor, Finder
from workbench.tui.tokens.transcript_view import TranscriptView

NO_TOKEN = "Press ← or → to select a token first."

OTHER = "(other) is the probability of all tokens that are not listed: there is no token to take."
"""Why there is nothing to branch to in the row of the remaining mass."""

UNLISTED = "This token was sampled, but is not among those listed: there is nothing to branch to."


def how_to_select(focused: Widget | None) -> str:
    """Return a hint on how to select a token; a text area uses the arrow keys itself."""
    if isinstance(focused, TextArea):
        return "F4, then ← or → picks a token"
    return "Press ← or → to select a token"


def no_alternative(number: int, count: int) -> str:
    """Return why there is no alternative of a number, among `count` listed."""
    if not count:
        return "The token has no alternatives: set logprobs to get some."
    listed = "alternative is" if count == 1 else "alternatives are"
    return f"There is no alternative {number}: {count} {listed} listed."


class TokenView(TranscriptView):
    """A transcript with a cursor on one token."""

    BINDINGS = bindings_at(Where.TOKENS)

    class CursorMoved(Message):
        """The cursor moved to another token."""

        def __init__(self, view: TokenView, key: str, position: int) -> None:
            super().__init__()
            self.view = view
            self.key = key
            """The key of the section."""
            self.position = position
            """The index of the token in the section's choice."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._column: int | None = None
        self._selecting_from: Cursor | None = None

    @property
    def thresholds(self) -> Thresholds:
        """Which tokens are notable, as the application sets it."""
        thresholds: Thresholds = getattr(self.app, "thresholds", Thresholds())
        return thresholds

    def move_cursor(self, key: str, position: int) -> None:
        """Move the cursor to a token and scroll to it. Raises KeyError if there is no such token."""
        self._move(token_cursor.at(self._transcript, key, position))

    def reveal(self, key: str, position: int) -> None:
        """Scroll to a token without moving the cursor. Raises KeyError if there is no such token."""
        self._bring(token_cursor.y_of(self._transcript, token_cursor.at(self._transcript, key, position)))

    def _bring(self, y: int) -> None:
        """Scroll to a row if it is out of view, to a third of the view's height."""
        top, height = self.scroll_offset.y, max(self.scrollable_content_region.height, 1)
        if y < top or y >= top + height:
            self._scroll_y_to(max(y - height // 3, 0))
            self.is_following = self.scroll_offset.y >= self.max_scroll_y

    def _move(self, cursor: Cursor | None, column: int | None = None, follow: bool = False) -> bool:
        """Move the cursor to a token; return False if there is none to move to."""
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
        """Remove the cursor."""
        if (old := self._cursor) is not None:
            self._cursor = self._column = self._selecting_from = None
            self._forget_tokens(old.section, old.position, old.position + 1)

    def _enter(self) -> bool:
        """Move the cursor to the newest answer's first surprising token, else to its first token."""
        return self._move(token_cursor.notable(self._transcript, partial(self.thresholds.next, "surprising")))

    def action_token(self, step: int) -> None:
        """Move to the next or previous token."""
        self._seek(token_cursor.adjacent, step)

    def action_line(self, rows: int) -> None:
        """Move some rows down, or up if negative."""
        if self._cursor is None:
            self._enter()
            return
        column = self._column
        if column is None:
            column = token_cursor.column_of(self._transcript, self._cursor)
        if not self._move(token_cursor.line(self._transcript, self._cursor, rows, column), column):
            self.scroll_relative(y=rows, animate=False, force=True)

    def action_page(self, pages: int) -> None:
        """Move some pages down, or up if negative."""
        self.action_line(pages * max(self.scrollable_content_region.height - 1, 1))

    def action_first_token(self) -> None:
        """Move to the first token, and scroll to the top."""
        self._move(token_cursor.first(self._transcript))
        self._scroll_y_to(0)

    def action_follow(self) -> None:
        """Move to the last token, and follow the end from now on."""
        self._move(token_cursor.last(self._transcript), follow=True)
        self.follow_end()

    def action_notable(self, kind: Notable, step: int) -> None:
        """Move to the next or previous notable token."""
        self._seek(partial(self.thresholds.next, kind), step)

    def _seek(self, finder: Finder, step: int) -> None:
        if self._cursor is None:
            self._enter()
        else:
            self._move(token_cursor.seek(self._transcript, self._cursor, step, finder))

    def action_elsewhere(self, step: int) -> None:
        """Move to the next or previous token where the second model's top choice differs."""
        if self.second is None:
            self.notify("Score the answer with another model first.", timeout=3)
        else:
            self._seek(self.second.next_elsewhere, step)

    async def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked token."""
        offset = event.get_content_offset(self)
        if offset is None or self.text_selection is not None:
            return
        self._move(token_cursor.token_at(self._transcript, offset.y + self.scroll_offset.y, offset.x))

    # --- search and selection ----------------------------------------------------------------------------

    async def find(self, text: str) -> bool:
        """Highlight a text and move to its next match, ignoring case; "" ends the search."""
        self.search = Search(text) if text else None
        return await self.find_next()

    async def find_next(self, step: int = 1) -> bool:
        """Move to the next (step 1) or previous (-1) match, wrapping around; return whether there is one."""
        transcript = self._transcript
        if self.search is None:
            return False
        found = await self.search.next_from(transcript, self._cursor, step)
        # Sections and tokens may be gone by now.
        if found is None or found.section >= len(transcript):
            return False
        return found.position < transcript.body(found.section).seen and self._move(found)

    async def action_found(self, step: int) -> None:
        """Move to the next or previous match."""
        await self.find_next(step)

    def action_select(self, unit: Literal["token", "line", "end"], step: int) -> None:
        """Extend the selection by a token, a row, or to an end of the answer, and move the cursor there."""
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
