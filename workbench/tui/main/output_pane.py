"""The output: the transcript of all runs, what went wrong, and keys for the token under the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from workbench.domain.choice import Alternative, Choice, Token
from workbench.domain.display import visible
from workbench.domain.run import Failure, Run
from workbench.domain.run_group import RunGroup
from workbench.domain.scoring import SecondScoring
from workbench.domain.token_levels import Mode
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import CommandTable, commands_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import LineInput
from workbench.tui.main.error_block import ErrorBlock
from workbench.tui.main.run_blocks import RunBlocks
from workbench.tui.main.sparkline import Sparkline
from workbench.tui.tokens.blocks import group_key, key_of
from workbench.tui.tokens.token_view import NO_TOKEN, TokenView, no_alternative
from workbench.tui.tokens.transcript import Section
from workbench.workspace.run_state import figures_of
from workbench.workspace.runs import SelectedToken

FIGURES_EVERY = 8
"""How many frames pass from one showing of the figures to the next."""


class OutputPane(Vertical):
    """Shows runs as they grow; tells what a person wants done with a token or an answer."""

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
        """A branch with an alternative in a token's place is wanted."""

        def __init__(self, run: Run, choice: Choice, position: int, alternative: Alternative) -> None:
            super().__init__()
            self.run = run
            self.choice = choice
            self.position = position
            self.alternative = alternative

    class InspectRequested(Message):
        """The inspector is to get the focus."""

    class TokenFocused(Message):
        """The cursor is on another token."""

        def __init__(self, run: Run, choice: Choice, token: Token) -> None:
            super().__init__()
            self.run = run
            self.choice = choice
            self.token = token

    class TokenLost(Message):
        """No token is under the cursor any more."""

    def __init__(self, *, id: str | None = None, classes: str = "") -> None:
        super().__init__(id=id, classes=f"{classes} -empty")
        self.error = ErrorBlock()
        """What went wrong; on the screen from the first failure on."""
        self.blocks = RunBlocks()
        """The runs shown, and the block that the keys are on."""
        self._shown = 0
        self._pulls = 0
        self._mode_before = Mode.FITTED
        """What the colours showed before a second scoring."""
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
        """Show these runs and no others."""
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
        self._post_token()

    def show_text(self, text: str, line: int) -> None:
        """Show the text of a file that is not a session, with its lines numbered, and go to one of them."""
        lines = [f"{number:5}  {row}" for number, row in enumerate(text.split("\n"), 1)]
        self.remove_class("-empty")
        self.view.set_sections([Section("text", "── the file as text", "\n".join(lines))])
        self._post_token()
        # With a few lines before it.
        self.view.show_offset("text", sum(len(row) + 1 for row in lines[: max(line - 4, 0)]))

    def begin(self, run: Run) -> None:
        """Show a new run below all others."""
        self.error.hide()
        for section in self.blocks.newest_answer():
            self.view.update_section(section)
        if self.runs:
            self._show_choices(self.runs[-1])
        self._add(run)
        self.remove_class("-empty")
        self._shown = 0
        # Who asks for an answer wants to see it come, wherever the cursor is.
        self.view.follow_end()
        self._show_figures()

    def add(self, runs: Sequence[Run]) -> None:
        """Show runs that are over below all others; who reads stays where they are."""
        for section in self.blocks.newest_answer():
            self.view.update_section(section)
        self.set_class(not (self.runs or runs), "-empty")
        for run in runs:
            self._add(run)
            self._shown = len(run.choices)
        self._show_figures()

    def _add(self, run: Run) -> None:
        """Show a run at the end, as its own or in its block."""
        if not self.blocks.add(run):
            self._show_blocks()
            return
        if (group := self.blocks.group_of(run)) is not None:
            self.view.update_section(self.blocks.header_of(group))
        for section in self.blocks.sections_of(run):
            self.view.add_section(section)

    def _show_blocks(self) -> None:
        """Show the runs anew where a block has begun, moved, or is folded otherwise."""
        self.view.set_sections(self.blocks.sections(self.view.sections))

    def pull(self) -> None:
        """Show what the newest run has got since."""
        if not self.runs:
            return
        run = self.runs[-1]
        if len(run.choices) != self._shown:
            self._shown = len(run.choices)
            self._show_choices(run)
            self._is_stale = True
        self._is_stale |= self.view.pull()
        self._pulls += 1
        # Figures stand in the frame, and another frame draws the whole pane again.
        if self._is_stale and self._pulls % FIGURES_EVERY == 0:
            self._show_figures()

    def show_waiting(self, message: str) -> None:
        """Say below the newest run why it waits, as long as nothing came of it."""
        run = self.runs[-1] if self.runs else None
        if run is not None and run.is_running and not run.choices:
            for section in self.blocks.sections_of(run):
                self.view.update_section(replace(section, figures=visible(message)))

    def end(self, run: Run) -> None:
        """Show a run's end; nothing where it is no longer shown."""
        if run in self.blocks:
            self._show_choices(run)
            self._show_figures()
            self._post_token()

    def fail(self, failure: Failure, where: str, field: str = "", *, was_sent: bool = True) -> None:
        """Show what went wrong; an answer before it stays, dimmed."""
        if not self.error.is_attached:
            self.mount(self.error)
        self.error.show(failure, where, field, was_sent=was_sent)
        for section in self.blocks.newest_answer(dimmed=True):
            self.view.update_section(section)
        run = self.runs[-1] if self.runs else None
        if was_sent and run is not None and not run.choices:
            # The block says it, as long as it is there.
            for section in self.blocks.sections_of(run):
                self.view.update_section(replace(section, figures=section.figures.partition("\n")[2]))

    def _show_choices(self, run: Run) -> None:
        """Bring a run's sections up to date; new choices are put where their index says."""
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
        # Those of a run that is over stand in its title. They are of the run that the bars show too.
        run = self.answer[0] if self.answer else self.runs[-1] if self.runs else None
        self.border_subtitle = Content(figures_of(run)) if run is not None and run.is_running else ""
        self._show_bars()

    @on(events.Resize)
    def _show_bars(self) -> None:
        """Show the surprise over the whole answer that has the cursor, else over the newest."""
        if self.bars.display:
            found, answer = self.token, self.answer
            self.bars.show(answer[1] if answer else None, found[2] if found else None)

    # --- the token under the cursor ----------------------------------------------------------------------

    def focus_view(self) -> None:
        """Give the transcript the focus at once: the next key may be waiting already."""
        self.screen.set_focus(self.view)

    def go_to(self, run: Run, choice: Choice | None = None, position: int | None = None) -> None:
        """Go to a token of a run, the first of its answer where none is named."""
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
        # A token may still be on its way from the run to the view.
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
        self._post_token()

    def _post_token(self) -> None:
        """Post which token is under the cursor now, also where the cursor has not moved."""
        if (found := self.token) is None:
            self.post_message(self.TokenLost())
        else:
            run, choice, position = found
            self.post_message(self.TokenFocused(run, choice, choice.token(position)))

    @on(Sparkline.Jumped)
    def _go_to_bar(self, event: Sparkline.Jumped) -> None:
        event.stop()
        if (answer := self.answer) is not None:
            self.go_to(*answer, event.position)

    def action_branch(self, digit: int) -> None:
        """Ask for a branch with an alternative, by its number in the inspector's list."""
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
        """The answer with the cursor, else the newest one; none where the keys are on a block."""
        if (found := self.token) is not None:
            return found[0], found[1]
        if self.blocks.current is not None:
            return None
        newest = next((run for run in reversed(self.runs) if run.choices), None)
        return None if newest is None else (newest, newest.ordered[0])

    def action_run(self, step: int) -> None:
        """Go to the next or previous run's first token, or to a block; to the newest one from nowhere."""
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
        """Have the keys on the header of a comparison, a sweep or a prompt set."""
        before, self.blocks.current = self.blocks.current, group
        self.view.leave_token()
        for changed in (before, group):
            if changed is not None:
                self.view.update_section(self.blocks.header_of(changed))
        self.view.show_section(group_key(group))
        self._show_figures()
        self._post_token()

    def go_to_newest_group(self) -> None:
        """Have the keys on the newest entry where that is a block and they are on nothing else."""
        newest = self.blocks.group_of(self.runs[-1]) if self.runs else None
        if newest is not None and self.blocks.current is None and self.token is None:
            self.go_to_group(newest)

    def _leave_group(self) -> None:
        if (group := self.blocks.current) is not None:
            self.blocks.current = None
            self.view.update_section(self.blocks.header_of(group))

    def action_fold(self) -> None:
        """Fold the block that the keys are on or in, or unfold it."""
        found = self.token
        group = self.blocks.current if found is None else self.blocks.group_of(found.run)
        if group is None:
            self.notify("Not in a comparison or sweep.", timeout=3)
            return
        self.blocks.fold(group, not self.blocks.is_folded(group))
        self._show_blocks()
        self.go_to_group(group)

    def action_inspect(self) -> None:
        """Go to the inspector."""
        if self.view.cursor is None:
            self.view.action_token(1)
        self.post_message(self.InspectRequested())

    def action_copy_answer(self) -> None:
        """Copy the selection, else the answer's exact text."""
        text = self.view.selected_text()
        if not text and self.blocks.current is not None:
            self.notify("Space unfolds the runs, to copy one.", timeout=3)
        elif not text and (answer := self.answer) is not None:
            text = answer[1].text
        if text:
            self.app.copy_to_clipboard(text)

    # --- how it looks ------------------------------------------------------------------------------------

    def action_cycle_colour(self) -> None:
        """Let the colours tell the next thing."""
        self.view.mode = self.view.mode.next(is_scored_twice=self.view.second is not None)

    def show_second(self, second: SecondScoring) -> None:
        """Colour an answer by how much more another model is surprised."""
        if self.view.mode is not Mode.DIFFERENCE:
            self._mode_before = self.view.mode
        self.view.second, self.view.mode = second, Mode.DIFFERENCE
        self._post_token()

    def action_toggle_whitespace(self) -> None:
        """Show blanks, tabs and line ends, or not."""
        self.view.whitespace = not self.view.whitespace

    def action_toggle_boundaries(self) -> None:
        """Underline every other token, or not."""
        self.view.boundaries = not self.view.boundaries

    def action_find(self) -> None:
        """Ask for a text to find."""
        if not self.query("#find"):
            # Made when it is first wanted: the first paint does not wait for it.
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
        """Close the search, with what it found still marked for `n` and `N`; False where it is not open."""
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
    """What to do first, where there is no run yet."""
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
