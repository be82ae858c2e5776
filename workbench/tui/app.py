"""The Textual application: composes screens and flows, and handles themes, signals and the clipboard."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from math import exp, log
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace
from textual import events, on, work
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.driver import Driver
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea
from textual.worker import Worker

from workbench.domain.colour_modes import Mode
from workbench.domain.display import one_line, sentences, visible
from workbench.domain.errors import StorageError
from workbench.domain.notable_tokens import Thresholds
from workbench.domain.run import Run
from workbench.storage.config import (
    DEFAULT_THEME,
    State,
    chosen_colour_by,
    chosen_theme,
    chosen_thresholds,
    load_state,
    save_state,
)
from workbench.storage.files import is_missing
from workbench.tui.commands.keymap import with_keys
from workbench.tui.commands.table import BY_ID
from workbench.tui.flows import FlowContext, Flows
from workbench.tui.key_queue import KeyQueue
from workbench.tui.main.output_pane import OutputPane
from workbench.tui.main.prompt_editor import PromptEditor
from workbench.tui.main.screen import MainScreen
from workbench.tui.motion import hold_cursor, is_reduced
from workbench.tui.painting import paint_directly
from workbench.tui.terminal import (
    MOST,
    copied,
    copy_through_tmux,
    is_suspendable,
    let_go_of_terminal,
    safe_driver,
)
from workbench.tui.theme.theme_files import Themes, load_themes, theme_stamp
from workbench.tui.theme.token_colours import (
    SIXTEEN_THEME,
    TokenStyles,
    detect_depth,
    theme_for,
    token_styles,
)
from workbench.tui.tokens.transcript_view import TranscriptView
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

_THEME_SECONDS = 1.0
"""Seconds between two checks for changed theme files."""


class WorkbenchApp(App[int]):
    """The application of the workbench."""

    TITLE = "Completion Workbench"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []
    CSS_PATH = Path(__file__).parent / "main" / "layout.tcss"

    def __init__(self, services: Services, session: Path | None = None, demo: Run | None = None) -> None:
        """`session` is the file to open; None reopens the last one. `demo` is a run to replay first."""
        # Otherwise Textual handles NO_COLOR with shades of grey, some of them black on black.
        super().__init__(ansi_color=True if "NO_COLOR" in services.environment else None)
        paint_directly()
        self.services = services
        if services.config.reduced_motion:
            self.animation_level = "none"
        self.commands = with_keys(services.config.keys)
        """The commands with the user's keys."""
        self.workspace = Workspace(services)
        self._depth = detect_depth(services.environment, self.console.color_system)
        self._state = load_state(services.folders)
        self._themes_folder = services.folders.config / "themes"
        self._stamp = theme_stamp(self._themes_folder)
        self.themes = Themes({})
        wanted = chosen_theme(services.config, self._state)
        self._load_themes(wanted, SIXTEEN_THEME, DEFAULT_THEME)
        self.theme = theme_for(wanted, self._depth, self.themes).name
        if session is None and self._state.session and not is_missing(Path(self._state.session)):
            session = Path(self._state.session)
        mode = Mode(chosen_colour_by(services.config, self._state))
        surprising, low_coverage = chosen_thresholds(services.config, self._state)
        self.thresholds = Thresholds(-log(surprising), low_coverage)
        """Which tokens are notable, in every token view."""
        self.flows = Flows(self)
        self._keys = KeyQueue(self, self.flows)
        self.token_styles = self._styles_now()
        """The styles of tokens in the current theme."""
        self.main = MainScreen(self.workspace, session, mode)
        self._has_terminal = asyncio.Event()
        """Cleared while another program has the terminal."""
        self._has_terminal.set()
        self._unseen: list[Callable[[], None]] = []
        """Toasts to show when the terminal is back."""
        self._demo = demo
        self._is_asking_to_quit = False

    def _load_themes(self, *names: str) -> None:
        self.themes = load_themes(self._themes_folder, names)
        for theme in self.themes.themes.values():
            self.register_theme(theme.theme)

    def _styles_now(self) -> TokenStyles:
        return token_styles(theme_for(self.theme, self._depth, self.themes), self._depth)

    def _use_styles(self) -> None:
        """Draw the tokens on all screens in the styles of the current theme."""
        self.token_styles = self._styles_now()
        for screen in self.screen_stack:
            screen.query("TranscriptView, Legend, Sparkline").refresh()

    def _fatal_error(self) -> None:
        """Print a traceback without values, which may contain a key."""
        # Textual prints all local variables, among them the environment.
        from rich.traceback import Traceback

        self.bell()
        self.panic(Traceback(show_locals=False, width=None))

    def get_driver_class(self) -> type[Driver]:
        """Return the driver of the terminal with the changes of `terminal.py`."""
        return safe_driver(super().get_driver_class())

    def get_default_screen(self) -> MainScreen:
        """Return the main screen, so that Textual's default screen is never laid out below it."""
        return self.main

    def on_mount(self) -> None:
        """Set up keys, timers and signal handlers, report problems, and play the demo."""
        self.set_keymap(dict(self.commands.keymap))
        if self._demo is not None:
            self.flows.start("replay.flow:play_demo", self._demo)
        self.theme_changed_signal.subscribe(self, lambda _: self._use_styles())
        self.set_interval(_THEME_SECONDS, self._reload_themes)
        self._report_problems("Configuration", (*self.services.problems, *self.commands.problems))
        loop = asyncio.get_running_loop()
        if hasattr(signal, "SIGHUP"):
            loop.add_signal_handler(signal.SIGHUP, self._hang_up)
            loop.add_signal_handler(signal.SIGQUIT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._end)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)

    def _report_problems(self, title: str, problems: Iterable[StorageError]) -> None:
        for problem in problems:
            self.notify(str(problem), title=title, severity="warning", timeout=10)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stop the cursor of a text field from blinking if motion is reduced."""
        if is_reduced(self):
            hold_cursor(event.widget)

    def refresh_css(self, animate: bool = True) -> None:
        """Restyle all screens; before the first screen, only set the theme's variables."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            # Textual would parse the style sheet here, and again when the first widgets add their rules.
            self.stylesheet.set_variables(self.get_css_variables())

    # --- input -------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Handle an event; input waits until the screen is ready for it."""
        is_input = isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded
        if not is_input or self._keys.admits(event):
            await super().on_event(event)

    @on(MainScreen.DraftShown)
    def _take_keys(self) -> None:
        self._keys.begin()
        self._report_problems("Configuration", self.services.endpoints.problems)
        self._load_themes()
        self._report_problems("Theme", self.themes.problems)
        self._report_unknown_theme()

    # --- flows -------------------------------------------------------------------------------------------

    def action_flow(self, id: str) -> None:
        """Start the flow of a command."""
        self.flows.start(BY_ID[id].flow)

    @on(Worker.StateChanged)
    def _note_flow(self, event: Worker.StateChanged) -> None:
        self.flows.note_state(event.worker, event.state)

    @on(OutputPane.AlternativeTaken)
    def _branch(self, event: OutputPane.AlternativeTaken) -> None:
        taken = event.run, event.choice, event.position, event.alternative
        self.flows.start("branches.flow:branch", *taken)

    @on(PromptEditor.CurlPasted)
    def _offer_curl(self, event: PromptEditor.CurlPasted) -> None:
        self.flows.start("prompt.flow:offer_curl", event.text)

    def pop_screen(self) -> AwaitComplete:
        """Remove the screen on top and cancel its workers, which have no widgets left to update."""
        self.workers.cancel_node(self.screen)
        return super().pop_screen()

    # --- themes ------------------------------------------------------------------------------------------

    def _reload_themes(self) -> None:
        stamp = theme_stamp(self._themes_folder)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        self._load_themes()
        self._report_problems("Theme", self.themes.problems)
        self._use_styles()
        self.refresh_css(animate=False)

    def _report_unknown_theme(self) -> None:
        name = self.services.config.theme
        broken = (Path(problem.path).stem for problem in self.themes.problems)
        if name and name not in {*self.available_themes, *broken}:
            near = get_close_matches(name, self.available_themes, 1) or sorted(self.themes.themes)
            message = f"There is no theme named {one_line(name, 40)!r}\nKnown: {', '.join(near)}"
            self.notify(message, title="config.toml", severity="warning", timeout=10)

    def remember_theme(self, name: str) -> None:
        """Use a theme at the next start too."""
        self._remember(replace(self._state, theme=name))

    def use_thresholds(self, thresholds: Thresholds) -> None:
        """Change which tokens are notable, in every token view and at the next start."""
        self.thresholds = thresholds
        surprising, low_coverage = exp(-thresholds.surprising), thresholds.low_coverage
        self._remember(replace(self._state, surprising=surprising, low_coverage=low_coverage))

    @on(MainScreen.ModeChanged)
    def _remember_mode(self, event: MainScreen.ModeChanged) -> None:
        if event.mode is not Mode.DIFFERENCE:
            self._remember(replace(self._state, colour_by=event.mode.value))

    @on(MainScreen.SessionOpened)
    def _remember_session(self, event: MainScreen.SessionOpened) -> None:
        self._remember(replace(self._state, session=str(event.path or "")))

    def _remember(self, state: State) -> None:
        self._state = state
        try:
            save_state(self.services.folders, self._state)
        except StorageError as problem:
            self.notify(str(problem), title="State", severity="warning")

    def action_suspend_process(self) -> None:
        """Suspend to the shell; `fg` resumes."""
        if is_suspendable():
            super().action_suspend_process()
        else:
            self.notify("There is no shell to suspend to.", severity="warning", timeout=4)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Hand the terminal over to another program; runs continue, and are drawn afterwards."""
        self._has_terminal.clear()
        try:
            with super().suspend():
                yield
        finally:
            self._has_terminal.set()
            unseen, self._unseen = self._unseen, []
            for show in unseen:
                show()

    # --- toasts ------------------------------------------------------------------------------------------

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast. Its text may be from files and servers, and is never interpreted as markup."""
        del markup
        text, head = visible(message), one_line(title)
        show = partial(super().notify, text, title=head, severity=severity, timeout=timeout, markup=False)
        if self._has_terminal.is_set():
            show()
        else:
            self._unseen.append(show)

    # --- quitting ----------------------------------------------------------------------------------------

    def _hang_up(self) -> None:
        self.main.keep()
        let_go_of_terminal(getattr(self._driver, "attrs_before", None))
        self._end()

    def _interrupt(self) -> None:
        # Ctrl+C and Ctrl+\ in an editor send these signals to all processes of the job.
        if self._has_terminal.is_set():
            self._end()

    @work
    async def _end(self) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Stop the runs, save everything, and exit; waits for an editor that has the terminal."""
        await self._has_terminal.wait()
        self.main.keep()
        await self.workspace.aclose()
        self._remember(replace(self._state, session=str(self.workspace.session_path or "")))
        await self.services.aclose()
        self.exit(0)

    async def action_quit(self) -> None:
        """Quit; ask first if a run streams or something cannot be saved."""
        if not self._is_asking_to_quit:
            self.flows.run(self._ask_to_quit)

    async def _ask_to_quit(self, flow: FlowContext) -> None:
        self._is_asking_to_quit = True
        try:
            if self.workspace.runs.is_streaming:
                agreed = await flow.confirmed("A completion is streaming.", "stop and quit", "stay")
            elif problem := await self.workspace.problem_in_saving():
                reason = one_line(sentences(*problem.splitlines()), 400)
                agreed = await flow.confirmed(f"Not saved: {reason}", "quit without it", "stay")
            else:
                agreed = True
        finally:
            self._is_asking_to_quit = False
        if agreed:
            self._end()

    # --- copying -----------------------------------------------------------------------------------------

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text to the clipboard of the terminal and of tmux, and show what was copied."""
        raw = text.encode("utf-8", "replace")
        if not raw:
            return
        if len(raw) <= MOST:
            super().copy_to_clipboard(raw.decode())
        # Pasting within the application is exact, even for lone surrogates, which UTF-8 cannot encode.
        self._clipboard = text
        if len(raw) > MOST or "TMUX" not in self.services.environment:
            self.notify(copied(text, is_too_long=len(raw) > MOST), timeout=3)
        else:
            self._copy_through_tmux(text, raw)

    @work(exclusive=True, group="copy", description="")
    async def _copy_through_tmux(self, text: str, raw: bytes) -> None:
        taken = await copy_through_tmux(raw, self.services.environment)
        self.notify(copied(text, tmux=taken), timeout=3)

    def action_copy_or_stop(self) -> None:
        """Copy the selection on the visible screens, else stop the runs."""
        for screen in reversed(self.screen_stack):
            own = screen.focused.selected_text if isinstance(screen.focused, Input | TextArea) else ""
            exact = "".join(view.selected_text() for view in screen.query(TranscriptView))
            if text := own or exact or screen.get_selected_text():
                self.copy_to_clipboard(text)
                # Without a selection, pressing the key again stops the runs.
                screen.clear_selection()
                return
            if not isinstance(screen, ModalScreen):
                break
        self.flows.stop()
