"""The sessions screen, to find, open and manage sessions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from workbench.domain.display import one_line, plural, visible
from workbench.domain.errors import StorageError
from workbench.storage.sessions_folder import Library, Listed
from workbench.storage.trash import KEPT
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks
from workbench.tui.popups.filtered_list import FilteredList
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.question import LinePopup
from workbench.tui.popups.result_screen import ResultScreen

_TITLE, _TEXT, _LETTERS_OF_TITLE, _LETTERS_OF_TEXT = 8, 4, 2, 1
"""Scores of a word found in the title or text, as a whole or by its letters."""


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A session with its searchable texts."""

    listed: Listed
    title: str
    """Title, file name and tags, in lower case."""
    text: str
    """The beginning of its prompts and answers, in lower case."""

    @staticmethod
    def of(listed: Listed) -> SearchEntry:
        """Return the entry of a session."""
        title = "\n".join((listed.title, Path(listed.path).stem, *listed.tags)).casefold()
        return SearchEntry(listed, title, listed.text.casefold())


def ranked(entries: Iterable[SearchEntry], text: str) -> Sequence[Listed]:
    """Return the sessions that contain every word typed, the best matches first, otherwise in their order.

    A word also matches a longer word that starts with its first letter and has its other letters in order
    (`lhs` matches lighthouse). Matches in titles rank higher than matches in texts.
    """
    wanted = [(word, _letters_of(word)) for word in text.casefold().split()]
    found = []
    for entry in entries:
        scores = [_score(entry, word, letters) for word, letters in wanted]
        if all(scores):
            found.append((sum(scores), entry.listed))
    found.sort(key=lambda scored: scored[0], reverse=True)
    return [listed for _, listed in found]


def _letters_of(word: str) -> re.Pattern[str]:
    # A gap excludes the letter that ends it, so that the search never backtracks.
    first, *others = map(re.escape, word)
    return re.compile(rf"(?<!\w){first}" + "".join(rf"[^\W{letter}]*+{letter}" for letter in others))


def _score(entry: SearchEntry, word: str, letters: re.Pattern[str]) -> int:
    if word in entry.title:
        return _TITLE
    if word in entry.text:
        return _TEXT
    if letters.search(entry.title):
        return _LETTERS_OF_TITLE
    return _LETTERS_OF_TEXT if letters.search(entry.text) else 0


_TITLE_CELLS = 60
"""The most characters shown of a title."""
Changed = TypeVar("Changed")


@dataclass(frozen=True, slots=True)
class ChosenSession:
    """The session chosen in the list."""

    path: Path
    """The session file."""
    is_compared: bool = False
    """Whether to compare its runs with the open session's, instead of opening it."""


class SessionsScreen(ResultScreen[ChosenSession]):
    """Lists the sessions; returns the one chosen, or None."""

    DEFAULT_CSS = """
    SessionsScreen RowList { width: 3fr; }
    SessionsScreen VerticalScroll { width: 2fr; }
    SessionsScreen.-narrow Container { layout: vertical; }
    SessionsScreen.-narrow RowList, SessionsScreen.-narrow VerticalScroll { width: 1fr; }
    """
    BINDINGS = bindings_at(Where.SESSIONS)
    where = Where.SESSIONS

    listing = getters.query_one(FilteredList)
    heading = getters.query_one(HeadingRow)

    def __init__(self, library: Library, current: Path | None) -> None:
        """`current` is the file of the open session, which cannot be deleted."""
        super().__init__()
        self._library = library
        self._current = current
        self._entries: Sequence[SearchEntry] = ()
        self._rows: Mapping[str, Option] = {}
        """Rows by path, created only once: for a thousand sessions, that is too slow for a key."""
        self._changing = asyncio.Lock()
        self.shown: Sequence[Listed] = ()
        """The sessions listed."""

    def compose(self) -> ComposeResult:
        yield HeadingRow("Sessions")
        yield FilteredList("type to find by title, tag, prompt or answer", str(self._current or ""))
        yield KeyRow(Where.SESSIONS)

    def on_mount(self) -> None:
        """Read the list in a thread."""
        self.heading.show("reading…")
        self._read()

    # --- the list ----------------------------------------------------------------------------------------

    @work(exclusive=True, group="read")
    async def _read(self) -> None:
        try:
            self._entries, self._rows = await asyncio.to_thread(self._listed)
        except StorageError as problem:
            self.heading.show(problem.title)
            self.notify(str(problem), title="Sessions", severity="error", timeout=10)
            return
        self._find(self.listing.filter.value)

    def _listed(self) -> tuple[list[SearchEntry], dict[str, Option]]:
        listed = self._library.sessions()
        rows = {session.path: Option(_row(session, self._current)) for session in listed}
        return [SearchEntry.of(session) for session in listed], rows

    @on(Input.Changed)
    def _find_typed(self, event: Input.Changed) -> None:
        """Highlight the best match."""
        self.listing.wanted = ""
        self._find(event.value)

    @work(exclusive=True, group="find")
    async def _find(self, text: str) -> None:
        """List the matches, superseding a search still under way."""
        self.shown = await asyncio.to_thread(ranked, self._entries, text)
        self.listing.show_rows({session.path: self._rows[session.path] for session in self.shown})
        if not self.shown:
            self._preview()
        self.heading.show(f"{len(self.shown)} of {len(self._entries)}")

    @property
    def highlighted(self) -> Listed | None:
        """The session under the cursor; None if nothing matches."""
        path = self.listing.highlighted
        return next((session for session in self.shown if session.path == path), None)

    @on(OptionList.OptionHighlighted)
    def _preview(self) -> None:
        listed = self.highlighted
        self.listing.show_details(Content("") if listed is None else _preview(listed))

    # --- actions -----------------------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def _open(self) -> None:
        if (listed := self.highlighted) is not None:
            self.dismiss(ChosenSession(Path(listed.path)))

    def action_compare(self) -> None:
        """Close, and compare runs of this session with those of the open one."""
        if (listed := self.highlighted) is not None:
            self.dismiss(ChosenSession(Path(listed.path), is_compared=True))

    @asks
    async def action_rename(self, flow: FlowContext) -> None:
        """Rename the session."""
        if (listed := self.highlighted) is not None:
            path = Path(listed.path)
            title = await flow.ask(LinePopup("Rename", listed.title or path.stem))
            if title is not None:
                await self._change(partial(self._library.rename, path, title))

    @asks
    async def action_tag(self, flow: FlowContext) -> None:
        """Edit the session's tags."""
        if (listed := self.highlighted) is not None:
            popup = LinePopup("Tags, separated by commas", ", ".join(listed.tags), may_be_empty=True)
            if (typed := await flow.ask(popup)) is not None:
                tags = tuple(dict.fromkeys(filter(None, map(str.strip, typed.split(",")))))
                await self._change(partial(self._library.tag, Path(listed.path), tags))

    @asks
    async def action_duplicate(self, flow: FlowContext) -> None:
        """Copy the session, and highlight the copy."""
        if (listed := self.highlighted) is not None:
            copy = await self._change(partial(self._library.duplicate, Path(listed.path)))
            self.listing.wanted = str(copy)

    @asks
    async def action_delete(self, flow: FlowContext) -> None:
        """Move the session to the trash, unless it is open."""
        listed = self.highlighted
        if listed is None:
            return
        path = Path(listed.path)
        if path == self._current:
            message = "This session is open: start or open another session first."
            self.notify(message, severity="warning")
            return
        self.listing.action_move(1 if listed is not self.shown[-1] else -1)
        await self._change(partial(self._library.delete, path))
        name = one_line(listed.title or path.stem, 40)
        key = key_of(self.app, "undelete_session")
        self.notify(f"{name} deleted; {key} restores it within {KEPT.days} days.", timeout=5)

    @asks
    async def action_undelete(self, flow: FlowContext) -> None:
        """Restore the session deleted last, even if that was before a restart."""
        self.listing.wanted = str(await self._change(self._library.undelete))

    async def _change(self, change: Callable[[], Changed]) -> Changed:
        """Change files in a thread, one change at a time, and read the list again. Raises StorageError."""
        async with self._changing:
            changed = await asyncio.to_thread(change)
        # The screen may have been closed meanwhile.
        if self in self.app.screen_stack:
            self._read()
        return changed


def _row(listed: Listed, current: Path | None) -> Content:
    path = Path(listed.path)
    title = one_line(listed.title or path.stem, _TITLE_CELLS)
    return Content.assemble(
        "● " if path == current else "  ",
        (title, "bold"),
        ("  not a session", "$text-error") if listed.error else f"  {plural(listed.runs, 'run')}",
        (f"  {_when(listed)}", "$text-muted"),
        (f"  {one_line(', '.join(listed.tags), 40)}" if listed.tags else "", "$text-accent"),
    )


def _preview(listed: Listed) -> Content:
    path = Path(listed.path)
    facts = f"{plural(listed.runs, 'run')} · {listed.size:,} bytes · changed {_when(listed)}"
    line = "" if listed.line is None else f"line {listed.line}: "
    return Content.assemble(
        (one_line(listed.title or path.stem), "bold"),
        (f"\n{one_line(path.name)}\n{facts}", "$text-muted"),
        (f"\n{one_line(', '.join(listed.tags))}" if listed.tags else "", "$text-accent"),
        (f"\n{line}{one_line(listed.error)}" if listed.error else "", "$text-error"),
        f"\n\n{visible(listed.text)}",
    )


def _when(listed: Listed) -> str:
    return f"{datetime.fromtimestamp(listed.modified):%Y-%m-%d %H:%M}"
