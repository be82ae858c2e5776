"""The inspector: the probability of the token under the cursor and its alternatives; and its one-row form."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widgets import Static

from workbench.domain.alternatives import AlternativeRow, rows_of
from workbench.domain.choice import Token
from workbench.domain.display import one_line, plural, show_bytes, token_text
from workbench.domain.figures import coverage, probability
from workbench.domain.scoring import SecondScoring
from workbench.domain.what_if import Reshaped, Sampling, reshape, sampler_order
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.fixed_width import fit, percent
from workbench.tui.tokens.token_view import OTHER, UNLISTED, how_to_select, no_alternative

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LABEL = 10
_PRECISE = 40
"""Width in cells from which reshaped probabilities have a decimal."""
_RAW = {
    True: "raw model probabilities",
    False: "probabilities after sampling",
    None: "unknown whether raw or post-sampling",
}


class Inspector(Vertical, can_focus=True):
    """A token with its alternatives; Up and Down select a row, Enter or a digit branches there."""

    DEFAULT_CSS = """
    Inspector { height: auto; padding: 0 1; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    BINDINGS = bindings_at(Where.INSPECTOR)

    body = getters.query_one(Static)

    class AlternativeChosen(Message):
        """A branch with an alternative was requested."""

        def __init__(self, position: int) -> None:
            super().__init__()
            self.position = position
            """The index of the alternative."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._token: Token | None = None
        self._count: int | None = None
        self._rows: tuple[AlternativeRow, ...] = ()
        self._row = 0
        self._first_row = 0
        self._raw: bool | None = None
        self._sampling = Sampling()
        self._order: Sequence[str] = ()
        """The order of the endpoint's samplers; empty if unknown."""
        self._echoed = 0
        self._second: SecondScoring | None = None
        self._most_rows = 0
        """The most rows shown so far, so that the pane does not change its height with every token."""
        self._shown_rows = 0
        self.border_title = Content("Token")

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(
        self,
        token: Token | None,
        count: int | None = None,
        echoed: int = 0,
        second: SecondScoring | None = None,
    ) -> None:
        """Show a token of a choice with `count` tokens, the first `echoed` of which are the prompt's.

        `count` is None while the choice grows; `second` is a second model's scoring of it. The selected row
        stays the same if the token does.
        """
        is_new = token != self._token
        if is_new:
            self._rows = rows_of(token) if token is not None else ()
            self._row = next((index for index, row in enumerate(self._rows) if row.is_chosen), 0)
        self._token, self._count, self._echoed, self._second = token, count, echoed, second
        self._draw()
        if is_new:
            self._show_row()

    def set_raw(self, raw: bool | None) -> None:
        """Set whether logprobs are raw, before sampling; None if unknown."""
        self._raw = raw
        self._draw()

    def set_sampling(self, sampling: Sampling, order: Sequence[str] = ()) -> None:
        """Show the distribution after sampling with these parameters, applied in an endpoint's order."""
        self._sampling, self._order = sampling, order
        self._most_rows = 0
        self._draw()

    def on_mount(self) -> None:
        """Redraw with the focus, which decides on the row cursor and on the hint, and in another width."""
        self.watch(self, "has_focus", self._draw, init=False)
        self.watch(self, "show_vertical_scrollbar", self._draw, init=False)
        self.watch(self.screen, "focused", self._draw, init=False)

    def on_focus(self) -> None:
        """Scroll to the selected row."""
        self._show_row()

    def _show_row(self) -> None:
        """Scroll to the selected row, with the facts above the first; without the focus, to the top."""
        y = self._first_row + self._row if self.has_focus and self._row else 0
        self.call_after_refresh(self.scroll_to_region, Region(0, y, 1, 1), animate=False)

    # --- keys and mouse ----------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Move to another row."""
        last = len(self._rows) - 1
        self._go_to_row(max(min(self._row + rows, last), 0))

    def _go_to_row(self, row: int) -> None:
        self._row = row
        self._draw()
        self._show_row()

    def action_page(self, pages: int) -> None:
        """Scroll by pages."""
        height = self.scrollable_content_region.height
        self.scroll_relative(y=pages * max(height - 1, 1), animate=False)

    def action_choose(self, digit: int | None = None) -> None:
        """Request a branch with the selected alternative, or with that of a digit."""
        if digit is not None:
            indices = [index for index, row in enumerate(self._rows) if row.position == digit - 1]
            if not indices:
                listed = sum(row.position is not None for row in self._rows)
                self.notify(no_alternative(digit, listed), timeout=3)
                return
            self._go_to_row(indices[0])
        row = self._rows[self._row] if self._row < len(self._rows) else None
        if row is not None and row.position is not None:
            self.post_message(self.AlternativeChosen(row.position))
        else:
            why = no_alternative(1, 0) if row is None else UNLISTED if row.is_chosen else OTHER
            self.notify(why, timeout=3)

    def action_copy(self) -> None:
        """Copy the exact text of the token in the row."""
        if self._token is None or self._row >= len(self._rows):
            return
        row = self._rows[self._row]
        if row.position is not None:
            self.app.copy_to_clipboard(self._token.alternatives[row.position].text)
        elif row.is_chosen:
            self.app.copy_to_clipboard(self._token.text)
        else:
            self.notify(OTHER, timeout=3)

    def on_click(self, event: events.Click) -> None:
        """Move to the clicked row; a double click branches there."""
        row = event.screen_y - self.body.region.y - self._first_row
        if not 0 <= row < len(self._rows):
            return
        is_double_click = row == self._row and event.chain > 1
        self._row = row
        self._draw()
        if is_double_click:
            self.action_choose()

    # --- drawing -----------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """The width of the text in cells."""
        return max(self.scrollable_content_region.width, 1)

    @on(events.Resize)
    def _draw(self) -> None:
        if self._token is None:
            self._most_rows = 0
            self._show_content(Content.styled(how_to_select(self.screen.focused), "$text-muted"))
            return
        lines = self._facts(self._token)
        self._first_row = Content("\n").join(lines).get_height({}, self._width)
        lines += self._alternatives(self._token)
        lines += [Content.styled(f"! {note}", "$text-warning") for note in self._notes()]
        self._show_content(Content("\n").join(lines))

    def _show_content(self, content: Content) -> None:
        """Show content; the screen is laid out again only if the height changes."""
        rows = content.get_height({}, self._width)
        self._most_rows = max(self._most_rows, rows)
        content += Content("\n" * (self._most_rows - rows))
        self.body.update(content, layout=self._most_rows != self._shown_rows)
        self._shown_rows = self._most_rows

    def _facts(self, token: Token) -> list[Content]:
        of = f"/{self._count}" if self._count else ""
        raw = token.raw if token.raw is not None else token.text.encode("utf-8", "surrogatepass")
        hexed = f" {show_bytes(raw[:6])}{'…' * (len(raw) > 6)}" if token.raw is not None else ""
        text = fit(token_text(token.text, token.raw), 14).rstrip()
        about = [
            text,
            f"{'prompt ' * (token.position < self._echoed)}token {token.position + 1}{of}",
            *([f"id {token.id}"] if token.id is not None else []),
            f"{plural(len(raw), 'byte')}{hexed}",
        ]
        lines = self._in_lines(about)
        lines[0] = lines[0].stylize("bold", 0, len(text))
        token_probability = probability(token.logprob)
        if token_probability is not None and token.logprob is not None:
            lines += self._in_lines(
                [
                    f"p {percent(token_probability).strip()}",
                    f"logprob {token.logprob:.3f}",
                    f"surprisal {max(-token.logprob, 0):.2f} nats",
                    *([f"rank {token.rank}"] if token.rank is not None else []),
                ]
            )
        lines += self._differences(token)
        if token.raw is not None and token.text and token.raw.decode("utf-8", "replace") != token.text:
            lines.append(Content.styled("! text is not the token's bytes", "$text-warning"))
        return lines

    def _differences(self, token: Token) -> list[Content]:
        """Return the surprisal of the token, or of its span of tokens, under both models."""
        second = self._second
        span = second.at(token.position) if second is not None else None
        if second is None or span is None:
            return []
        scorer = one_line(second.scorer, 20)
        own, other = ("—" if surprisal is None else f"{surprisal:.2f}" for surprisal in span.surprisals)
        facts = [f"own {own}", f"{scorer} {other} nats"]
        if len(span.first) > 1:
            facts.insert(0, f"these {len(span.first)} tokens:")
        if span.difference is not None:
            facts.append(f"difference {span.difference:+.2f}")
        lines = self._in_lines(facts)
        if (elsewhere := span.elsewhere) is not None:
            text = fit(token_text(elsewhere.text, elsewhere.raw), 14).rstrip()
            percentage = percent(probability(elsewhere.logprob) or 0.0).strip()
            lines += self._in_lines([f"{scorer}'s top choice", f"{text} {percentage}"])
        return lines

    def _in_lines(self, facts: Sequence[str], style: str = "") -> list[Content]:
        """Join facts to as few lines as possible, without breaking a fact."""
        lines: list[str] = []
        for fact in facts:
            if lines and cell_len(lines[-1]) + 2 + cell_len(fact) <= self._width:
                lines[-1] += f"  {fact}"
            else:
                lines.append(fact)
        return [Content.styled(line, style) for line in lines]

    def _alternatives(self, token: Token) -> list[Content]:
        if not self._rows:
            return [Content.styled("! no logprobs: set logprobs to see them", "$text-warning")]
        shaped = None
        if not self._sampling.is_neutral and self._raw is True:
            shaped = self._reshaped(token)
        lines = [self._line(index, row, shaped) for index, row in enumerate(self._rows)]
        facts = []
        logprobs = [
            alternative.logprob for alternative in token.alternatives if alternative.logprob is not None
        ]
        if (covered := coverage(logprobs)) is not None:
            facts.append(f"{len(token.alternatives)} listed cover {percent(covered).strip()}")
        lines += self._in_lines([*facts, _RAW[self._raw]], "$text-muted")
        if shaped is not None:
            assumed = "" if self._order else ", in llama.cpp's order"
            lines.append(Content.styled(f"→ what if  {_describe(self._sampling, self._order)}", "bold"))
            lines.append(
                Content.styled(
                    f"{shaped.survivors} of {len(shaped.probabilities)} kept{assumed}", "$text-muted"
                )
            )
        elif not self._sampling.is_neutral:
            lines.append(Content.styled("what if: needs raw logprobs", "$text-muted"))
        return lines

    def _notes(self) -> list[str]:
        """Return the notes on rows."""
        return [f"{row.label}: {row.note}" for row in self._rows if self._needs_note(row)]

    def _needs_note(self, row: AlternativeRow) -> bool:
        """Return whether a row's note is not among the facts, as the lower bound of a rank is."""
        rank = self._token.rank if self._token is not None else None
        return bool(row.note) and not (row.is_chosen and rank is not None and not rank.is_exact)

    def _line(self, index: int, row: AlternativeRow, shaped: Reshaped | None) -> Content:
        number = f"{row.position + 1}" if row.position is not None and row.position < 9 else " "
        mark = "▸" if index == self._row and self.has_focus else "•" if row.is_chosen else " "
        mass = row.mass
        after = "" if shaped is None else self._after(index, shaped)
        room = max(self._width - _LABEL - 11 - cell_len(after), 0)
        bar = "" if mass is None else _bar(mass, room)
        style = "bold" if row.is_chosen else "$text-muted" if row.position is None else ""
        flag = "!" if self._needs_note(row) else " "
        # The bar is not reversed, as it would then show the complement; the rest is, in a single colour.
        cursor = "reverse" if index == self._row and self.has_focus else ""
        return Content.assemble(
            (f"{mark}{number} ", cursor or "$text-accent"),
            (fit(row.label, _LABEL), cursor or style),
            flag,
            (fit(bar, room), "$accent" if row.is_chosen else "$text-muted"),
            (f" {'—'.rjust(6) if mass is None else percent(mass)}{after}", cursor or style),
        )

    # --- what if -----------------------------------------------------------------------------------------

    def _reshaped(self, token: Token) -> Reshaped:
        logprobs = [alternative.logprob for alternative in token.alternatives]
        if sum(not row.is_remaining for row in self._rows) > len(logprobs):
            # The last row is the token itself, which is not among the alternatives.
            logprobs.append(token.logprob)
        rank = token.rank
        top = 0 if rank is None else len(logprobs) if rank.is_exact else rank.value - 1
        return reshape(logprobs, self._sampling, self._order, top)

    def _after(self, index: int, shaped: Reshaped) -> str:
        """Return the column with a row's probability after sampling."""
        if index >= len(shaped.probabilities):
            arrow = " →" if shaped.remaining_is_exact else " ≈"
            mass: float | None = shaped.remaining
        else:
            arrow, mass = " →", shaped.probabilities[index]
        is_precise = self._width >= _PRECISE
        if mass is None:
            shown = "—"
        elif mass == 0:
            shown = "filtered" if is_precise else "out"
        elif is_precise:
            shown = percent(mass)
        else:
            shown = _whole_percent(mass)
        return f"{arrow}{shown.rjust(8 if is_precise else 4)}"


def _bar(mass: float, room: int) -> str:
    eighths = round(mass * room * 8)
    if mass > 0:
        eighths = max(eighths, 1)
    return _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _describe(sampling: Sampling, order: Sequence[str]) -> str:
    values = sampling._asdict()
    names = [name for name in sampler_order(order) if values[name] is not None]
    return " → ".join(f"{name} {values[name]:g}" for name in names)


_LONGEST = 14


class TokenStrip(Static):
    """A row with the token under the cursor and as many of its alternatives as fit."""

    DEFAULT_CSS = """
    TokenStrip { height: 1; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self._token: Token | None = None

    def on_mount(self) -> None:
        """Redraw with the focus, which decides on the hint."""
        self.watch(self.screen, "focused", self._draw)

    def show(self, token: Token | None) -> None:
        """Show a token, or None for a hint on how to select one."""
        self._token = token
        self._draw()

    @on(events.Resize)
    def _draw(self) -> None:
        token = self._token
        if token is None:
            self.update(Content.styled(how_to_select(self.screen.focused), "$text-muted"), layout=False)
            return
        rows = rows_of(token)
        chosen = next((row for row in rows if row.is_chosen), None)
        head = _short(token_text(token.text, token.raw))
        rank = "" if token.rank is None else f"  rank {token.rank}"
        figure = f" {_whole_percent(chosen.mass)}{rank}" if chosen is not None else ""
        parts = [(head, "bold"), (figure, ""), (" │", "$text-muted")]
        room = self.content_size.width - cell_len(f"{head}{figure} │")
        for row in rows:
            if row.is_chosen:
                continue
            number = "" if row.position is None else f"{row.position + 1} "
            text = f"{number}{_short(row.label)} {_whole_percent(row.mass)}{'!' if row.note else ''}"
            if (room := room - cell_len(text) - 2) < 0:
                break
            parts.append((f" {text} ", "$text-muted" if row.position is None else ""))
        self.update(Content.assemble(*parts), layout=False)


def _short(text: str) -> str:
    return fit(text, min(cell_len(text), _LONGEST))


def _whole_percent(mass: float | None) -> str:
    """Format a probability without decimals; only 0 is shown as `0%`, and only 1 as `100%`."""
    if mass is None:
        return "—"
    return "<1%" if 0 < mass < 0.005 else ">99%" if 0.995 <= mass < 1 else f"{mass * 100:.0f}%"
