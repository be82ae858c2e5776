"""The replay screen: a recorded run, at its own pace or token by token."""

from __future__ import annotations

from msgspec.structs import replace
from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal

from workbench.domain.choice import Choice
from workbench.domain.colour_modes import Mode
from workbench.domain.display import one_line
from workbench.domain.run import Run
from workbench.runner.replayed_run import Replay
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.main.inspector import Inspector, TokenStrip
from workbench.tui.motion import Frames
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.tokens.run_sections import sections_of
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import Section
from workbench.workspace.run_state import figures_of

_SLOWEST, _FASTEST = 1 / 16, 64.0
"""Limits of the speed, relative to the recording."""


class ReplayScreen(ResultScreen[None]):
    """Replays a run with the colours and the inspector of the main screen; sends nothing."""

    DEFAULT_CSS = """
    ReplayScreen #stage { height: 1fr; }
    ReplayScreen TokenView { width: 1fr; height: 1fr; padding: 0 1; }
    ReplayScreen Inspector { width: 38; height: 1fr; }
    ReplayScreen TokenStrip { display: none; }
    ReplayScreen.-narrow Inspector { display: none; }
    ReplayScreen.-narrow TokenStrip { display: block; }
    """
    BINDINGS = bindings_at(Where.REPLAY)
    where = Where.REPLAY

    view = getters.query_one(TokenView)
    inspector = getters.query_one(Inspector)
    strip = getters.query_one(TokenStrip)

    def __init__(self, recorded: Run, title: str, mode: Mode = Mode.FITTED) -> None:
        """`title` names the run in the first row; `mode` is the measure that tokens are coloured by."""
        super().__init__()
        self._recorded = recorded
        self._title = title
        self._mode = mode
        self._shown = -1
        """Number of choices shown; -1 before the first frame."""
        self._frames = Frames(self, self._frame)
        self.replay = Replay(recorded)

    def compose(self) -> ComposeResult:
        yield HeadingRow("Replay")
        with Horizontal(id="stage"):
            yield TokenView(classes="pane")
            yield Inspector(classes="pane")
        yield TokenStrip()
        yield KeyRow(Where.REPLAY)

    def on_mount(self) -> None:
        """Start the replay."""
        self.inspector.can_focus = False
        self.inspector.set_raw(self._recorded.raw_logprobs)
        self.view.mode = self._mode
        self.view.focus()
        self.action_restart()

    # --- frames ------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        run = self.replay.run
        if len(run.choices) != self._shown:
            self._shown = len(run.choices)
            self.view.set_sections(self._sections())
        self.view.pull()
        if self.view.cursor is None:
            self._show_newest()
        self._show_about()
        if self.replay.is_over:
            for section in self._sections():
                self.view.update_section(section)
        if self.replay.is_over or self.replay.is_paused:
            self._frames.pause()

    def _sections(self) -> list[Section]:
        sections = sections_of([self.replay.run], 0)
        if len(sections) > 1:
            return sections
        # The first row already names the run.
        ended = [figures_of(self.replay.run)] if self.replay.is_over else []
        return [
            replace(section, title="", figures="\n".join([*ended, section.figures])) for section in sections
        ]

    def _show_about(self) -> None:
        """Update the first row: the run, the progress, the speed and the state."""
        shown, all_tokens = self.replay.progress
        state = "● end" if self.replay.is_over else "‖ paused" if self.replay.is_paused else "▶ playing"
        figures = f"{shown}/{all_tokens} tok · {self.replay.speed:g}× · {state}"
        name = one_line(self._recorded.name or self._recorded.model or self._recorded.endpoint, 60)
        self.query_one(HeadingRow).show(f"{self._title} · {name}", figures)

    # --- actions -----------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause or resume; at the end, play from the start."""
        if self.replay.is_over:
            self.action_restart()
        elif self.replay.is_paused:
            self.replay.resume()
        else:
            self.replay.pause()
        self._frames.resume()

    def action_faster(self, factor: float) -> None:
        """Multiply the speed by a factor, within limits."""
        self.replay.speed = min(max(self.replay.speed * factor, _SLOWEST), _FASTEST)
        self._show_about()

    def action_step(self) -> None:
        """Pause and show one more token."""
        self.replay.pause()
        self.replay.step()
        self._frames.resume()

    def action_all(self) -> None:
        """Show the remaining tokens at once."""
        while self.replay.step():
            pass
        self._frames.resume()

    def action_restart(self) -> None:
        """Play from the start, at the current speed."""
        self.replay = Replay(self._recorded, self.replay.speed)
        self._shown = -1
        self.inspector.show(None)
        self.strip.show(None)
        self._play()
        self._frames.resume()

    @work(exclusive=True, group="replay")
    async def _play(self) -> None:
        await self.replay.play()

    def action_cycle_colour(self) -> None:
        """Colour by the next measure."""
        self.view.mode = self.view.mode.next()

    def action_toggle_whitespace(self) -> None:
        """Show or hide spaces, tabs and line ends."""
        self.view.whitespace = not self.view.whitespace

    def action_copy_answer(self) -> None:
        """Copy the selection, else the text of the first choice so far."""
        text = "".join(choice.text for choice in self.replay.run.ordered[:1])
        self.app.copy_to_clipboard(self.view.selected_text() or text)

    # --- the token under the cursor ----------------------------------------------------------------------

    @on(TokenView.CursorMoved)
    def _show_token(self, event: TokenView.CursorMoved) -> None:
        choice = self.replay.run.choices.get(int(event.key.rpartition(":")[2]))
        if choice is not None and event.position < len(choice):
            self._show(choice, event.position)

    def _show_newest(self) -> None:
        started = [choice for choice in self.replay.run.ordered if len(choice)]
        if started:
            newest = max(started, key=lambda choice: choice.at[-1])
            self._show(newest, len(newest) - 1)

    def _show(self, choice: Choice, position: int) -> None:
        token = choice.token(position)
        self.inspector.show(token, len(choice))
        self.strip.show(token)
