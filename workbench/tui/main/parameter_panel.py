"""The panel of the request's parameters, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.parameter_table import FIELDS, Field, Range
from workbench.domain.parameter_values import check_value, step_value
from workbench.domain.parameters import Parameters
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.field_editor import (
    FieldEditor,
    Tokenizer,
    bias_texts,
    extra_from_text,
    extra_to_text,
    field_from_text,
    field_to_text,
    has_lines,
    with_ids,
)
from workbench.tui.main.parameter_rows import EXTRA, MODEL, ROWS, ParameterRows

_LINES = {"logit_bias": 'ID=BIAS or "text"=BIAS per line.', EXTRA: "KEY=JSON per line."}
"""The format of fields with one entry per line."""
_TOGETHER = frozenset({"temperature", "top_p"})


class ParameterPanel(Vertical, can_focus=True):
    """The parameters of the draft, with keys to step, edit and unset them."""

    DEFAULT_CSS = """
    ParameterPanel { padding: 0 1; }
    ParameterPanel > #rows { height: 1fr; min-height: 1; scrollbar-size-vertical: 1; }
    ParameterPanel #lines { height: auto; width: 1fr; }
    ParameterPanel > #problem { height: auto; max-height: 3; color: $text-error; display: none; }
    ParameterPanel > #problem.-shown { display: block; }
    ParameterPanel > #help { height: auto; color: $text-muted; display: none; }
    ParameterPanel > #help.-shown { display: block; }
    """
    BINDINGS = bindings_at(Where.PARAMETERS)

    class Changed(Message):
        """The parameters changed."""

        def __init__(self, parameters: Parameters) -> None:
            super().__init__()
            self.parameters = parameters

    class ModelRequested(Message):
        """A choice of the model was requested, or the endpoint's default model."""

        def __init__(self, *, is_unset: bool = False) -> None:
            super().__init__()
            self.is_unset = is_unset

    editor = getters.query_one(FieldEditor)

    limits: var[Mapping[str, Range]] = var(dict)
    """The endpoint's own ranges by field, which replace the default ranges."""
    notes: var[Mapping[str, str]] = var(dict)
    """Notes on fields by name, such as `ignored by this endpoint`."""
    model = var("")
    """The model that will be requested."""
    prompt_count = var(1)
    """The number of prompts in a request, which multiplies its cost."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._parameters = Parameters()
        self._preset: Parameters | None = None
        self._preset_name = ""
        self._row = 1
        self._editing: str | None = None
        self._problem = ""
        self._shown_texts = ("", "")
        """The texts last shown as problem and help."""
        self._token_texts: dict[str, str] = {}
        self.tokenizer: Tokenizer | None = None
        """Returns the token ids of texts in `logit_bias`; None if the endpoint has no tokenizer."""
        self.border_title = Content("Params")

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="rows", can_focus=False):
            yield _Lines(self._rows, id="lines")
        yield Static(id="problem", markup=False)
        yield Static(id="help", markup=False)

    def on_mount(self) -> None:
        """Draw, now and after changes."""
        self._draw()
        for name in ("has_focus", "limits", "notes", "model", "prompt_count"):
            self.watch(self, name, self._draw, init=False)

    # --- for other widgets -------------------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """The parameters, including what is being typed. Raises BadValueError if that is not valid."""
        if self._editing is None:
            return self._parameters
        return self._with_typed(self._editing, self.editor.text)

    def set_parameters(
        self, parameters: Parameters, preset: Parameters | None = None, preset_name: str = ""
    ) -> None:
        """Replace the parameters; `preset` are those that changes are marked against."""
        self._close()
        self._parameters, self._preset, self._preset_name = parameters, preset, preset_name
        self._draw()

    def set_text(self, name: str, text: str) -> None:
        """Set a field from a text. Raises BadValueError if it is not a valid value."""
        parameters = self._with_typed(name, text)
        self._close()
        self._change(parameters)

    def go_to(self, name: str) -> bool:
        """Select a field's row; return False if it has none, or what is being typed is not valid."""
        if name not in ROWS or not self._finish():
            return False
        self._row = ROWS.index(name)
        self._draw()
        return True

    @property
    def rows_in_view(self) -> list[tuple[str, Offset]]:
        """The visible fields, and the offset of the row of each on the screen."""
        lines, view = self.query_one("#lines").region, self.query_one("#rows").region
        rows = [(name, Offset(lines.x, lines.y + index)) for index, name in enumerate(ROWS)]
        return [row for row in rows if view.y <= row[1].y < view.bottom]

    @property
    def field(self) -> str:
        """The name of the selected row."""
        return ROWS[self._row]

    # --- keys and mouse ----------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Move to another row."""
        self._row = max(min(self._row + rows, len(ROWS) - 1), 0)
        self._problem = ""
        self._draw()

    def action_step(self, steps: int) -> None:
        """Change the row's value by some steps."""
        if self.field in (MODEL, EXTRA):
            return
        try:
            value = self._parameters.sent(self.field)
            stepped = step_value(FIELDS[self.field], value, steps, self.limits)
        except BadValueError as problem:
            self._fail(problem.title)
            return
        self._change(self._parameters.set(self.field, stepped))

    def action_unset(self) -> None:
        """Unset the field of the row."""
        if self.field == MODEL:
            self.post_message(self.ModelRequested(is_unset=True))
        elif self.field == EXTRA:
            self._change(replace(self._parameters, extra={}))
        else:
            self._change(self._parameters.set(self.field, None))

    def action_edit(self, typed: str | None = None) -> None:
        """Edit the value of the row; `typed` replaces it."""
        if self.field == MODEL:
            self.post_message(self.ModelRequested())
            return
        if self.field == EXTRA:
            text, lines = extra_to_text(self._parameters.extra), True
        else:
            field = FIELDS[self.field]
            text, lines = field_to_text(field, self._parameters.get(self.field)), has_lines(field)
        self._editing = self.field
        self._problem = ""
        if not self.query(FieldEditor):
            # Mounted on first use, so that it does not delay the first paint.
            self.mount(FieldEditor(), after="#rows")
        self.editor.begin(text if typed is None else typed, lines)
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Start editing with a typed character that is not a key of a command."""
        if self._editing is not None and (event.is_printable or event.key in ("enter", "tab", "escape")):
            # Typed before the focus had moved to the editor.
            event.stop()
            event.prevent_default()
            self.editor.post_message(events.Key(event.key, event.character))
            return
        if not self.has_focus or event.character is None or not event.is_printable:
            return
        if self.field in (MODEL, EXTRA) or event.key in self.screen.active_bindings:
            return
        field = FIELDS[self.field]
        if (
            event.character.isdigit()
            or event.character == "."
            or (has_lines(field) and event.character > " ")
        ):
            event.stop()
            event.prevent_default()
            self.action_edit(event.character)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row; a double click edits it."""
        lines = self.query_one("#lines")
        row = event.screen_y - lines.region.y
        if event.widget is not lines or not 0 <= row < len(ROWS) or not self._finish():
            return
        is_double_click = row == self._row and event.chain > 1
        self._row = row
        self._draw()
        if is_double_click:
            self.action_edit()

    @on(FieldEditor.Changed)
    def _keep_row_in_view(self) -> None:
        # The list shrinks as the editor grows.
        self.call_after_refresh(self._show_row)

    # --- editing -----------------------------------------------------------------------------------------

    @on(FieldEditor.Entered)
    def _take(self) -> None:
        if self._finish():
            self.focus()

    @on(FieldEditor.Cancelled)
    def _drop(self) -> None:
        self._close()
        self._draw()
        self.focus()

    def _finish(self) -> bool:
        """Accept what was typed; if it is not valid, keep the editor open, show why and return False."""
        if self._editing is None:
            return True
        text = self.editor.text
        if self._editing == "logit_bias" and self.tokenizer is not None and (tokens := bias_texts(text)):
            self._tokenize(self.tokenizer, text, tokens)
            return False
        try:
            parameters = self._with_typed(self._editing, text)
        except BadValueError as problem:
            self._fail(problem.title)
            return False
        self._close()
        self._change(parameters)
        return True

    def _with_typed(self, name: str, text: str) -> Parameters:
        if name == EXTRA:
            return replace(self._parameters, extra=extra_from_text(text))
        field = FIELDS[name]
        value = field_from_text(field, text)
        if value is not None and (why := check_value(field, value, self.limits)):
            raise BadValueError(why, hint=field.help, field=name)
        return self._parameters.set(name, value)

    @work(exclusive=True, group="tokenize")
    async def _tokenize(self, tokenizer: Tokenizer, text: str, tokens: tuple[str, ...]) -> None:
        try:
            ids = {token: await tokenizer(token) for token in tokens}
            exact = with_ids(text, ids)
        except WorkbenchError as problem:
            self._fail(problem.title)
            return
        if self._editing != "logit_bias" or self.editor.text != text:
            return
        self._token_texts |= {str(known[0]): token for token, known in ids.items()}
        self.editor.text = exact
        self._take()

    def _close(self) -> None:
        if self._editing is not None:
            self._editing = None
            if self.screen.focused is self.editor:
                # Also below a popup: hiding a focused editor would leave nothing focused.
                self.screen.set_focus(self)
            self.editor.end()
        self._problem = ""

    def _fail(self, why: str) -> None:
        self._problem = why
        self._draw()

    def _change(self, parameters: Parameters) -> None:
        self._problem = ""
        if parameters != self._parameters:
            self._parameters = parameters
            self.post_message(self.Changed(parameters))
        self._draw()

    # --- drawing -----------------------------------------------------------------------------------------

    @on(events.Resize)
    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.query_one("#lines").refresh()
        problem, help = self.query_one("#problem", Static), self.query_one("#help", Static)
        texts = one_line(f"✗ {self._problem}", 200), "\n".join(self._help())
        # A changed text may change the height, and lays out the whole screen again.
        if texts != self._shown_texts:
            self._shown_texts = texts
            problem.update(Content(texts[0]))
            problem.set_class(bool(self._problem), "-shown")
            help.update(Content(texts[1]))
            help.set_class(bool(texts[1]), "-shown")
        changed = self._preset is not None and self._parameters != self._preset
        name = one_line(self._preset_name, 20)
        self.border_subtitle = Content(f"preset: {name}{'*' * changed}" if name else "")
        self.call_after_refresh(self._show_row)

    def _rows(self, width: int) -> Content:
        shown = self._shown
        current = self.field if self._has_keys else ""
        return Content("\n").join(shown.line(name, width, is_current=name == current) for name in ROWS)

    @property
    def _shown(self) -> ParameterRows:
        return ParameterRows(
            self._parameters,
            self._preset or Parameters(),
            self.limits,
            self.notes,
            self.model,
            self._token_texts,
            self.prompt_count,
        )

    def _show_row(self) -> None:
        rows = self.query_one("#rows", VerticalScroll)
        top, height = round(rows.scroll_y), rows.size.height
        if not top <= self._row < top + height:
            rows.scroll_to(y=self._row if self._row < top else self._row - height + 1, animate=False)

    @property
    def _has_keys(self) -> bool:
        return self.has_focus or self._editing is not None

    def _help(self) -> Iterator[str]:
        """Yield lines of help: the cost of the request and, with the focus, notes and help on the row."""
        name, shown = self.field, self._shown
        if shown.cost:
            yield shown.cost
        if not self._has_keys:
            return
        if name in self.notes:
            yield f"! {one_line(self.notes[name])}"
        if (why := shown.problems.get(name)) and not self._problem:
            yield f"✗ {one_line(why)}"
        if self._editing is not None:
            several = self._editing == EXTRA or has_lines(FIELDS[self._editing])
            yield f"{'Tab' if several else 'Enter'} saves, Esc cancels"
            if several:
                yield _LINES.get(name, "One entry per line.")
        if name in _TOGETHER and self._parameters.values.keys() >= _TOGETHER:
            yield "temperature or top_p, not both"
        yield from _help_of(name, self.limits)


class _Lines(Widget):
    """The rows of the panel, made when they are drawn rather than at every change."""

    def __init__(self, rows: Callable[[int], Content], *, id: str) -> None:
        """`rows` returns the rows for a width in cells."""
        super().__init__(id=id)
        self._make_rows = rows

    def render(self) -> Content:
        """Render the rows."""
        return self._make_rows(self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows."""
        return len(ROWS)


def _help_of(name: str, limits: Mapping[str, Range]) -> Iterator[str]:
    if name == EXTRA:
        yield "More JSON for the request body, merged last."
        return
    field: Field = FIELDS[name]
    allowed = limits.get(name, field.range)
    yield " · ".join([str(allowed)] * (allowed is not None) + [f"default: {field.unset}"])
    yield field.help
