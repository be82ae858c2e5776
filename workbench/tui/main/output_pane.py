"""The output pane: the transcript of all runs, the last error, and keys for the token under the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from workbench.domain.choice import Alternative, Choice
from workbench.domain.colour_modes import Mode
from workbench.domain.display import visible
from workbench.domain.run import Failure, Run
from workbench.domain.run_group import RunGroup
from workbench.domain.scoring import SecondScoring
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import CommandTable, commands_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import LineInput
from workbench.tui.main.error_block import ErrorBlock
from workbench.tui.main.run_blocks import RunBlocks
from workbench.tui.main.sparkline import Sparkline
from workbench.tui.tokens.run_sections import group_key, key_of
from workbench.tui.tokens.token_view import NO_TOKEN, TokenView, no_alternative
from workbench.tui.tokens.transcript import Section
from workbench.workspace.run_state import figures_of
from workbench.workspace.runs import SelectedToken

FIGURES_EVERY = 8
"""Frames between two updates of the figures."""


class OutputPane(Vertical):
    """A pane with the transcript of the runs, which updates as they stream."""

    DEFAULT_CSS = """
    OutputPane { padding: 0 1; }
    OutputPane TokenView { height: 1fr; max-width: 102; }
    OutputPane Sparkline { display: none; max-width: 102; }
    OutputPane #find { display: none; background: $panel; }
    OutputPane #find.-open { display: block; }
    OutputPane #hint { display: none; height: auto; color: $text-muted; }
    OutputPane.-empty #hint { display: block; }
    """
    BINDINGS = bindings_at(Where.OUTPUT, Where.GROUP)

    view = getters.query_one(TokenView)
    bars = getters.query_one(Sparkline)

    class AlternativeTaken(Message):
        """A branch with an alternative in place of a token was requested."""

        def __init__(self, run: Run, choice: Choice, position: int, alternative: Alternative) -> None:
            super().__init__()
            self.run = run
            self.choice = choice
            self.position = position
            self.alternative = alternative

    class InspectRequested(Message):
        """The focus was requested to move to the inspector."""

    class TokenFocused(Message):
        """Another token is under the cursor, or none, or its run changed."""

    def __init__(self, *, id: str | None = None, classes: str = "") -> None:
        super().__init__(id=id, classes=f"{classes} -empty")
        self.error = ErrorBlock()
        """The last error; mounted at the first one."""
        self.blocks = RunBlocks()
        """The runs shown, and the selected group."""
        self._shown = 0
        self._pulls = 0
        self._mode_before = Mode.FITTED
        """The mode before a second scoring was shown."""
        self._is_stale = False
        self.border_title = "Output"

    def compose(self) -> ComposeResult:
        yield Static(_first_steps(commands_of(self.app)), id="hint", markup=False)
        yield TokenView()
        yield Sparkline()

    # --- runs --------------------------------------------------------------------------------------------

    @property
    def runs(self) -> list[Run]:
        """The runs shown, oldest first."""
        return self.blocks.runs

    def show_runs(self, runs: Sequence[Run]) -> None:
        """Replace all runs."""
        self.blocks.show(runs)
        self.set_class(not runs, "-empty")
        self.error.hide()
        self.view.set_sections(self.blocks.sections())
        second = self.view.second
        if second is not None and all(second.choice not in run.choices.values() for run in runs):
            self.view.second = None
            if self.view.mode is Mode.DIFFERENCE:
                self.view.mode = self._mode_before
        self._show_figures()
        self.post_message(self.TokenFocused())

    def show_text(self, text: str, line: int) -> None:
        """Show the text of a file that is not a session, with line numbers, and scroll to a line."""
        lines = [f"{number:5}  {row}" for number, row in enumerate(text.split("\n"), 1)]
        self.remove_class("-empty")
        self.view.set_sections([Section("text", "── the file as text", "\n".join(lines))])
        self.post_message(self.TokenFocused())
        # Three lines above it stay in view.
        self.view.show_offset("text", sum(len(row) + 1 for row in lines[: max(line - 4, 0)]))

    def begin(self, run: Run) -> None:
        """Append a new run, and follow it."""
        self.error.hide()
        for section in self.blocks.newest_answer():
            self.view.update_section(section)
        if self.runs:
            self._show_choices(self.runs[-1])
        self._add(run)
        self.remove_class("-empty")
        self._shown = 0
        # The new answer is followed wherever the cursor is.
        self.view.follow_end()
        self._show_figures()

    def add(self, runs: Sequence[Run]) -> None:
        """Append completed runs, without scrolling."""
        for section in self.blocks.newest_answer():
            self.view.update_section(section)
        self.set_class(not (self.runs or runs), "-empty")
        for run in runs:
            self._add(run)
            self._shown = len(run.choices)
        self._show_figures()

    def _add(self, run: Run) -> None:
        """Append a run, by itself or in its group."""
        if not self.blocks.add(run):
            self._show_blocks()
            return
        if (group := self.blocks.group_of(run)) is not None:
            self.view.update_section(self.blocks.header_of(group))
        for section in self.blocks.sections_of(run):
            self.view.add_section(section)

    def _show_blocks(self) -> None:
        """Replace the sections after a group was added, moved, folded or unfolded."""
        self.view.set_sections(self.blocks.sections(self.view.sections))

    def pull(self) -> None:
        """Show what the newest run received since the last call."""
        if not self.runs:
            return
        run = self.runs[-1]
        if len(run.choices) != self._shown:
            self._shown = len(run.choices)
            self._show_choices(run)
            self._is_stale = True
        self._is_stale |= self.view.pull()
        self._pulls += 1
        # The figures are in the border, and a new border redraws the whole pane.
        if self._is_stale and self._pulls % FIGURES_EVERY == 0:
            self._show_figures()

    def show_waiting(self, message: str) -> None:
        """Show why the newest run waits, if it has received nothing yet."""
        run = self.runs[-1] if self.runs else None
        if run is not None and run.is_running and not run.choices:
            for section in self.blocks.sections_of(run):
                self.view.update_section(replace(section, figures=visible(message)))

    def end(self, run: Run) -> None:
        """Show the end of a run, if it is still shown."""
        if run in self.blocks:
            self._show_choices(run)
            self._show_figures()
            self.post_message(self.TokenFocused())

    def fail(self, failure: Failure, where: str, field: str = "", *, was_sent: bool = True) -> None:
        """Show a failure, and dim the answer before it."""
        if not self.error.is_attached:
            self.mount(self.error)
        self.error.show(failure, where, field, was_sent=was_sent)
        for section in self.blocks.newest_answer(dimmed=True):
            self.view.update_section(section)
        run = self.runs[-1] if self.runs else None
        if was_sent and run is not None and not run.choices:
            # The error block shows the message.
            for section in self.blocks.sections_of(run):
                self.view.update_section(replace(section, figures=section.figures.partition("\n")[2]))

    def _show_choices(self, run: Run) -> None:
        """Update the sections of a run; new choices are inserted in the order of their indexes."""
        sections = self.blocks.sections_of(run)
        known = {section.key for section in self.view.sections}
        if all(section.key in known for section in sections):
            for section in sections:
                self.view.update_section(section)
            return
        others = [section for section in self.view.sections if section.key.partition(":")[0] != run.id]
        self.view.set_sections([*others, *sections])

    def _show_figures(self) -> None:
        self._is_stale = False
        # Figures of the run that the sparkline shows; a completed run has them in its title.
        run = self.answer[0] if self.answer else self.runs[-1] if self.runs else None
        self.border_subtitle = Content(figures_of(run)) if run is not None and run.is_running else ""
        self._show_bars()

    @on(events.Resize)
    def _show_bars(self) -> None:
        """Show the surprisal of the answer under the cursor, else of the newest answer."""
        if self.bars.display:
            found, answer = self.token, self.answer
            self.bars.show(answer[1] if answer else None, found[2] if found else None)

    # --- the token under the cursor ----------------------------------------------------------------------

    def focus_view(self) -> None:
        """Focus the transcript immediately, as the next key may already be waiting."""
        self.screen.set_focus(self.view)

    def go_to(self, run: Run, choice: Choice | None = None, position: int | None = None) -> None:
        """Move the cursor to a token of a run; by default to the first of its answer."""
        if choice is None:
            choice = next(iter(run.ordered), None)
        key = key_of(run, choice.index if choice is not None else 0)
        if (group := self.blocks.group_of(run)) is not None and self.blocks.is_folded(group):
            self.blocks.fold(group, False)
            self._show_blocks()
        if all(section.key != key for section in self.view.sections):
            return
        self.focus_view()
        self._leave_group()
        # The view may not have pulled the token yet.
        self.view.pull()
        self.view.show_section(key)
        if choice is not None and len(choice):
            wanted = choice.echoed if position is None else position
            self.view.move_cursor(key, min(wanted, len(choice) - 1))

    @property
    def token(self) -> SelectedToken | None:
        """The token under the cursor."""
        cursor = self.view.cursor
        return None if cursor is None else self.blocks.token_at(*cursor)

    @on(TokenView.CursorMoved)
    def _follow_cursor(self, event: TokenView.CursorMoved) -> None:
        event.stop()
        if self.view.cursor is not None:
            self._leave_group()
        self._show_figures()
        self.post_message(self.TokenFocused())

    @on(Sparkline.Jumped)
    def _go_to_bar(self, event: Sparkline.Jumped) -> None:
        event.stop()
        if (answer := self.answer) is not None:
            self.go_to(*answer, event.position)

    def action_branch(self, digit: int) -> None:
        """Request a branch with an alternative, by its number in the inspector's list."""
        if (found := self.token) is None:
            self.notify(NO_TOKEN, timeout=3)
            return
        run, choice, position = found
        rows = choice.token(position).alternatives
        if digit <= len(rows):
            self.post_message(self.AlternativeTaken(run, choice, position, rows[digit - 1]))
        else:
            self.notify(no_alternative(digit, len(rows)), timeout=3)

    @property
    def answer(self) -> tuple[Run, Choice] | None:
        """The answer under the cursor, else the newest one; None if a group is selected."""
        if (found := self.token) is not None:
            return found[0], found[1]
        if self.blocks.current is not None:
            return None
        newest = next((run for run in reversed(self.runs) if run.choices), None)
        return None if newest is None else (newest, newest.ordered[0])

    def action_run(self, step: int) -> None:
        """Move to the next or previous run or group; without a cursor, to the newest."""
        stops = [entry for entry in self.blocks.entries() if isinstance(entry, RunGroup) or entry.tokens]
        if not stops:
            self.notify("No runs yet.", timeout=3)
            return
        found = self.token
        current = found.run if found is not None else self.blocks.current
        here = next((index for index, entry in enumerate(stops) if entry is current), None)
        index = len(stops) - 1 if here is None else here + step
        match stops[max(min(index, len(stops) - 1), 0)]:
            case RunGroup() as group:
                self.go_to_group(group)
            case run:
                self.go_to(run)

    def go_to_group(self, group: RunGroup) -> None:
        """Select the header of a comparison, a sweep or a prompt set."""
        before, self.blocks.current = self.blocks.current, group
        self.view.leave_token()
        for changed in (before, group):
            if changed is not None:
                self.view.update_section(self.blocks.header_of(changed))
        self.view.show_section(group_key(group))
        self._show_figures()
        self.post_message(self.TokenFocused())

    def go_to_newest_group(self) -> None:
        """Select the group of the newest run, if neither a token nor a group is selected."""
        newest = self.blocks.group_of(self.runs[-1]) if self.runs else None
        if newest is not None and self.blocks.current is None and self.token is None:
            self.go_to_group(newest)

    def _leave_group(self) -> None:
        if (group := self.blocks.current) is not None:
            self.blocks.current = None
            self.view.update_section(self.blocks.header_of(group))

    def action_fold(self) -> None:
        """Fold or unfold the selected group, or the group of the token under the cursor."""
        found = self.token
        group = self.blocks.current if found is None else self.blocks.group_of(found.run)
        if group is None:
            self.notify("Not in a comparison or sweep.", timeout=3)
            return
        self.blocks.fold(group, not self.blocks.is_folded(group))
        self._show_blocks()
        self.go_to_group(group)

    def action_inspect(self) -> None:
        """Focus the inspector."""
        if self.view.cursor is None:
            self.view.action_token(1)
        self.post_message(self.InspectRequested())

    def action_copy_answer(self) -> None:
        """Copy the selection, else the exact text of the answer."""
        text = self.view.selected_text()
        if not text and self.blocks.current is not None:
            self.notify("Space unfolds the runs, to copy one.", timeout=3)
        elif not text and (answer := self.answer) is not None:
            text = answer[1].text
        if text:
            self.app.copy_to_clipboard(text)

    # --- colours and search ------------------------------------------------------------------------------

    def action_cycle_colour(self) -> None:
        """Colour tokens by the next measure."""
        self.view.mode = self.view.mode.next(is_scored_twice=self.view.second is not None)

    def show_second(self, second: SecondScoring) -> None:
        """Colour an answer by its difference in surprisal to a second model."""
        if self.view.mode is not Mode.DIFFERENCE:
            self._mode_before = self.view.mode
        self.view.second, self.view.mode = second, Mode.DIFFERENCE
        self.post_message(self.TokenFocused())

    def action_toggle_whitespace(self) -> None:
        """Show or hide spaces, tabs and newlines."""
        self.view.whitespace = not self.view.whitespace

    def action_toggle_boundaries(self) -> None:
        """Underline every second token, or stop doing so."""
        self.view.boundaries = not self.view.boundaries

    def action_find(self) -> None:
        """Open the search."""
        if not self.query("#find"):
            # Mounted on first use, so that it does not delay the first paint.
            self.mount(LineInput(id="find", placeholder="find", select_on_focus=False))
        find = self.query_one("#find", Input)
        find.add_class("-open")
        self.screen.set_focus(find)

    @on(Input.Changed, "#find")
    def _find_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._find_text(event.value)

    @work(exclusive=True, group="find")
    async def _find_text(self, text: str) -> None:
        found = await self.view.find(text)
        self.query_one("#find", Input).set_class(bool(text) and not found, "-missing")

    @on(Input.Submitted, "#find")
    def _find_next(self, event: Input.Submitted) -> None:
        event.stop()
        self.close_find(keep=True)

    def close_find(self, keep: bool = False) -> bool:
        """Close the search, with `keep` still highlighting matches; return whether it was open."""
        if not self.query("#find.-open"):
            return False
        find = self.query_one("#find", Input)
        find.remove_class("-open")
        if not keep:
            find.value = ""
            self.view.search = None
        self.focus_view()
        return True


def _first_steps(commands: CommandTable) -> Content:
    """Return the hint shown while there are no runs."""
    run, output, help, palette = (
        (commands[id].first_key, "bold $text-accent") for id in ("run", "focus_output", "help", "palette")
    )
    return Content.assemble(
        run,
        " sends the prompt; each token is coloured by its probability.\n",
        output,
        ", then ← →, shows what else was likely; 1–9 branches there.\n",
        help,
        " lists the keys for this pane, ",
        palette,
        " every command by name.",
    )
