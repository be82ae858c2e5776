"""The raw traffic screen: the last request as sent, and every event of the response with its tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from workbench.client.wire_log import MOST_KEPT, WireEvent, WireEvents
from workbench.domain.display import one_line, plural, token_text, visible
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.fixed_width import fit
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.activity import Exchange


class EventRow(NamedTuple):
    """A row of the event list; the texts are escaped."""

    when: str
    tokens: str
    raw: str
    """The beginning of the event's raw text."""


_WHEN, _TOKENS = 9, 16
"""Cells of the columns."""


class EventList(ScrollView, can_focus=True):
    """A list with a cursor, which creates only the rows in view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"event-list--cursor", "event-list--token", "event-list--muted"}
    DEFAULT_CSS = """
    EventList { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    EventList .event-list--cursor { background: $accent; color: $background; text-style: bold; }
    EventList .event-list--token { text-style: bold; }
    EventList .event-list--muted { color: $text-muted; }
    """
    BINDINGS = bindings_at(Where.EVENTS)

    class Moved(Message):
        """The cursor moved to another row."""

    def __init__(self, row: Callable[[int], EventRow], *, classes: str | None = None) -> None:
        """`row` creates the row of an index."""
        super().__init__(classes=classes)
        self._row = row
        self._count = 0
        self.cursor = 0
        """The index of the row under the cursor."""

    def show(self, count: int) -> None:
        """Set the number of rows."""
        if count != self._count:
            self._count = count
            self.virtual_size = Size(self.size.width, count)
            self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor some rows down, or up if negative."""
        self.go_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor some pages down, or up if negative."""
        self.go_to(self.cursor + by * max(self.size.height - 1, 1))

    def action_go(self, index: int) -> None:
        """Move the cursor to a row, counted from the end if negative."""
        self.go_to(index if index >= 0 else self._count + index)

    def go_to(self, index: int) -> None:
        """Move the cursor to a row, or the nearest one, and scroll to it."""
        index = max(0, min(index, self._count - 1))
        self.cursor = index
        top, height = round(self.scroll_y), self.scrollable_content_region.height
        if not top <= index < top + height:
            self.scroll_to(y=max(index - height // 2, 0), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row clicked."""
        if (offset := event.get_content_offset(self)) is not None:
            index = offset.y + round(self.scroll_y)
            if index < self._count:
                self.go_to(index)

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        width = self.scrollable_content_region.width
        index = y + round(self.scroll_y)
        if index >= self._count:
            return Strip.blank(width, self.rich_style)
        row = self._row(index)
        plain = self.rich_style
        token, muted = (
            plain + self.get_component_rich_style(f"event-list--{name}", partial=True)
            for name in ("token", "muted")
        )
        if index == self.cursor:
            plain = token = muted = self.get_component_rich_style("event-list--cursor")
        segments = [
            Segment(f"{row.when:>{_WHEN}}  ", muted),
            Segment(fit(row.tokens, _TOKENS), token),
            Segment(f"  {fit(row.raw, max(width - _WHEN - _TOKENS - 4, 0))}", plain),
        ]
        return Strip(segments).adjust_cell_length(width, plain)


_REFRESHES_A_SECOND = 20
_SECONDS = 0.012
"""The longest time to read recorded events at once, so that keys are handled in between."""
_HEADS = 2
"""Rows before the events: the request, and the response headers."""
_MOST_SHOWN = 20_000
"""The most characters shown of one event; copying copies all."""
_IN_ROW = 300
"""The most characters of an event in its row."""


class Spot(NamedTuple):
    """A token of a choice, both by index."""

    choice: int
    token: int


class WireScreen(ResultScreen[Spot]):
    """Shows an exchange; returns the first token of the highlighted event, or None."""

    DEFAULT_CSS = """
    WireScreen EventList { height: 1fr; }
    WireScreen VerticalScroll { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    WireScreen #raw { width: 1fr; height: auto; }
    """
    BINDINGS = bindings_at(Where.WIRE)
    where = Where.WIRE

    rows = getters.query_one(EventList)

    def __init__(self, exchange: Exchange, spot: Spot | None = None) -> None:
        """`spot` is the token whose event to highlight once it is found."""
        super().__init__()
        self._exchange = exchange
        self._wire = exchange.wire
        self._spot = spot
        self._attempt = 0
        self.events = WireEvents(self._wire)

    def compose(self) -> ComposeResult:
        yield HeadingRow("Raw traffic")
        yield EventList(self._row, classes="pane")
        with VerticalScroll(classes="pane"):
            yield Static(id="raw")
        yield KeyRow(Where.WIRE)

    def on_mount(self) -> None:
        """Start reading the events recorded."""
        self.rows.border_title = Content("Raw traffic")
        self.rows.focus()
        self._timer = self.set_interval(1 / _REFRESHES_A_SECOND, self._look)
        self.call_after_refresh(self._look)

    # --- display -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Read more events, from the start after a retry; pause once the response is complete."""
        if self._attempt != self._wire.attempts:
            self._attempt = self._wire.attempts
            self.events = WireEvents(self._wire)
        self.events.read(_SECONDS)
        self.rows.show(_HEADS + len(self.events))
        if self._spot is not None and (index := self.events.event_of(*self._spot)) is not None:
            self._spot = None
            self.rows.go_to(_HEADS + index)
        elif self.rows.cursor < _HEADS:
            self._show_raw()
        self._show_about()
        if self.events.is_over:
            self._timer.pause()

    def _show_about(self) -> None:
        wire = self._wire
        status = "no response yet" if wire.status is None else f"HTTP {wire.status}"
        if wire.status is None and wire.is_over:
            status = "no response"
        is_reading = wire.is_over and not self.events.is_over
        count = "reading…" if is_reading else plural(len(self.events), "event")
        kept = f"{wire.size:,} bytes"
        if not wire.is_whole:
            kept += f", the first {len(wire.answer):,} kept (at most {MOST_KEPT >> 20} MiB)"
        parts = [status, count, kept]
        if wire.attempts > 1:
            parts.append(f"attempt {wire.attempts}")
        if self._exchange.run.split is not None:
            parts.append("the first of several requests")
        self.query_one(HeadingRow).show(one_line(" · ".join(parts), 200))

    def _row(self, index: int) -> EventRow:
        wire = self._wire
        if index == 0:
            return EventRow("→", "request", one_line(f"{wire.method} {wire.url}", _IN_ROW))
        if index == 1:
            return EventRow("←", "response", one_line(self._response_head().replace("\n", " · "), _IN_ROW))
        event = self.events[index - _HEADS]
        # Every event of a stream begins with the same fields.
        start = max(event.raw.find(b'"choices"', 0, _IN_ROW), 0)
        raw = "…" * bool(start) + one_line(self._text(event.raw[start : start + _IN_ROW]), _IN_ROW)
        return EventRow(f"{event.at:.3f} s", one_line(self._tokens(event), 60), raw)

    def _tokens(self, event: WireEvent) -> str:
        choices = self._exchange.run.choices
        parts: list[str] = []
        for given in event.gave[:4]:
            texts = ""
            if (choice := choices.get(given.choice)) is not None:
                stop = min(given.first + min(given.count, 8), len(choice))
                indices = range(given.first, stop)
                texts = "".join(token_text(choice.text_of(index), choice.raw_of(index)) for index in indices)
            parts.append(f"{given.choice}: {texts}" if len(choices) > 1 else texts)
        return " ".join(parts)

    def _text(self, raw: bytes) -> str:
        """Decode bytes, with the key masked and invalid bytes as `\\xe2`."""
        return self._wire.key.redact(raw.decode("utf-8", "backslashreplace"))

    def _response_head(self) -> str:
        wire = self._wire
        if wire.status is None:
            return "no response" if wire.is_over else "nothing yet"
        heads = [f"{name}: {value}" for name, value in wire.answer_headers.items()]
        return wire.key.redact("\n".join([f"HTTP {wire.status}", *heads]))

    def _raw(self, index: int) -> str:
        """Return the full text of a row: the request, the response headers or an event."""
        if index == 0:
            wire = self._wire
            heads = "".join(f"{name}: {value}\n" for name, value in wire.headers.items())
            return f"{wire.method} {wire.url}\n{heads}\n{self._text(wire.body)}"
        return self._response_head() if index == 1 else self._text(self.events[index - _HEADS].raw)

    @on(EventList.Moved)
    def _show_raw(self) -> None:
        text = self._raw(self.rows.cursor)
        pane = self.query_one(VerticalScroll)
        rest = len(text) - _MOST_SHOWN
        key = key_of(self.app, "copy_raw")
        more = f"\n… {rest:,} more characters; {key} copies all" if rest > 0 else ""
        # Escaped, as a CR would overwrite the line before it.
        self.query_one("#raw", Static).update(Content(visible(text[:_MOST_SHOWN]) + more))
        pane.border_title = Content(self._title(self.rows.cursor))
        pane.scroll_home(animate=False)

    def _title(self, index: int) -> str:
        if index < _HEADS:
            return "Request as sent" if index == 0 else "Response headers"
        event = self.events[index - _HEADS]
        gave = sum(given.count for given in event.gave)
        tokens = plural(gave, "token") if gave else "no token"
        return f"Event {index - _HEADS + 1} · {event.at:.3f} s · {len(event.raw):,} bytes · {tokens}"

    # --- actions -----------------------------------------------------------------------------------------

    def action_close(self) -> None:
        """Close, and go to the token of the highlighted event."""
        index = self.rows.cursor - _HEADS
        gave = self.events[index].gave if 0 <= index < len(self.events) else ()
        self.dismiss(Spot(gave[0].choice, gave[0].first) if gave else None)

    def action_copy_raw(self) -> None:
        """Copy the full text of the row, with the key masked."""
        self.app.copy_to_clipboard(self._raw(self.rows.cursor))
