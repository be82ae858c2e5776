"""The main screen: sends the draft, shows what comes, and branches from it."""

from __future__ import annotations

from contextlib import suppress
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, TextArea

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt
from workbench.domain.reading import Mode, fitted
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome, Run
from workbench.domain.session import Session
from workbench.domain.whatif import Sampling
from workbench.runner.branching import Branch
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.run_controller import RunController
from workbench.tui.screens.branching import BranchScreen
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles
from workbench.tui.widgets.output_pane import OutputPane
from workbench.tui.widgets.parameter_panel import ParameterPanel

if TYPE_CHECKING:
    from workbench.domain.splitting import Split
    from workbench.runner.splitting import Quirks
    from workbench.tui.chat_session import ChatSession
    from workbench.tui.screens.chat import ChatScreen

FRAMES_A_SECOND = 30
"""How often the panes look for new tokens while something streams."""


class MainScreen(BranchScreen):
    """Passes between the panes and the controller, which knows how a run is sent."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Where.EVERYWHERE, Where.ANYWHERE)

    def __init__(
        self,
        services: Services,
        styles: TokenStyles,
        session: Path | None = None,
        mode: Mode = Mode.FITTED,
    ) -> None:
        """`session` is the file to go on with, None to begin with the example; `mode` is of the colours."""
        super().__init__(services, styles, session)
        self._first_mode = mode
        self._runs = RunController(services, self._run_ended)
        self.talking: ChatScreen | None = None
        """The screen of the conversation, while it is open."""
        self._chat: tuple[Session, ChatSession] | None = None
        """The session's conversation, which changes that can be undone refer to."""
        self._frames: Timer | None = None
        self._waiting = ""
        """What is said of a run that waits to be sent again."""
        self._left_out: dict[tuple[str, str], Split] = {}

    async def on_mount(self) -> None:
        """Get ready to look for tokens."""
        self.output.view.mode = self.legend.mode = self._first_mode
        self.output.view.surprise_threshold = -log(self.services.config.surprising)
        self.output.view.coverage_threshold = self.services.config.low_coverage
        self._frames = self.set_interval(1 / FRAMES_A_SECOND, self._frame, pause=True)

    @property
    def is_streaming(self) -> bool:
        """Whether something streams."""
        is_chatting = self.talking is not None and self.talking.is_streaming
        return self._runs.is_running or self.is_comparing or is_chatting

    async def aclose(self) -> None:
        """Stop what streams, wait until it has ended, and write everything."""
        if self.talking is not None:
            await self.talking.settle()
        await self._runs.aclose()
        await super().aclose()

    # --- the conversation --------------------------------------------------------------------------------

    def conversation(self) -> ChatSession:
        """The session's conversation, with the panel's parameters for what is said next."""
        from workbench.tui.chat_session import ChatSession

        parameters = self.parameters.parameters.set("n", None).set("best_of", None)
        draft = Request(TextPrompt(""), self.asked_model, parameters)
        session = self.keeper.session
        if self._chat is None or self._chat[0] is not session:
            self._chat = session, ChatSession(self.services, self.keeper, self.changes, self.endpoint, draft)
        chat = self._chat[1]
        chat.begin(self.endpoint, draft)
        chat.preset = self.preset_of(parameters)
        return chat

    # --- sending -----------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        """Close the search or the drawer, else stop what streams."""
        if self.output.close_find():
            return
        if self.close_drawer():
            self.output.focus_view()
        else:
            self._runs.stop()

    @property
    def request(self) -> Request:
        """What the draft would send. Raises BadValueError where it cannot be sent."""
        return Request(self.filled_prompt, self.asked_model, self.parameters.parameters)

    def quirks(self, request: Request) -> Quirks:
        """What is known of how the endpoint answers several choices or prompts at once."""
        from workbench.domain.splitting import NOT_SPLIT
        from workbench.runner.splitting import Quirks
        from workbench.storage.probes import load_probe

        if request.choices < 2:
            return Quirks()
        probe = load_probe(self.services.folders, self.endpoint.name)
        return Quirks(probe, self._left_out.get((self.endpoint.name, request.model), NOT_SPLIT))

    def send(self, request: Request, branch: Branch | None, split: Split | None) -> Run:
        """Send a request as the run that streams; `split` is what each of several requests asks for."""
        self.note_draft()
        preset = self.preset_of(request.parameters)
        parent = branch.parent if branch is not None else None
        run = Run(request, self.endpoint.name, parent=parent, preset=preset, split=split)
        if branch is not None and branch.note:
            run.note(branch.note)
        self.output.begin(run)
        self.legend.scale = fitted(run.request.parameters)
        self._runs.start(run, self.endpoint, branch.joint if branch is not None else None)
        self.keeper.began(run)
        self.footer.running = True
        if self._frames is not None:
            self._frames.resume()
        self._frame()
        return run

    def stop_sending(self, run: Run) -> None:
        """Stop a run where it streams."""
        if run is self._runs.run:
            self._runs.stop()

    def _frame(self) -> None:
        self.output.pull()
        self.header.state = self._runs.state
        if (waiting := self._runs.waiting) != self._waiting:
            self._waiting = waiting
            self.output.show_waiting(waiting)

    def _run_ended(self, run: Run) -> None:
        self.keep_ended(run)
        if not self.is_attached:
            return
        self.output.end(run)
        if run is not self._runs.run:
            return
        if self._frames is not None:
            self._frames.pause()
        self._frame()
        self.footer.running = False
        # The local model is there now, to be asked for its tokens.
        self.count_prompt()
        self.legend.note = " · ".join(self._remember_quirks(run))
        self._show_model(run.model)
        if run.outcome is Outcome.ERROR and run.error is not None:
            place = self._runs.endpoint
            url = place.address if place is not None and place.address != run.endpoint else ""
            self.output.fail(run.error, f"at {run.endpoint} {url}".rstrip())

    def _remember_quirks(self, run: Run) -> list[str]:
        """Remember what the answer lacks; what to say of it."""
        from workbench.runner.splitting import left_out

        if not (lacks := left_out(run)):
            return []
        self._left_out[run.endpoint, run.request.model] = lacks
        again = self.services.commands["run"].first_key
        return [f"{again} offers to ask for each in a request of its own"]

    # --- the token under the cursor ----------------------------------------------------------------------

    @on(OutputPane.TokenFocused)
    def _show_token(self, event: OutputPane.TokenFocused) -> None:
        self.legend.scale = fitted(event.run.request.parameters)
        self.inspector.set_raw(event.run.raw_logprobs)
        self.inspector.show(event.token, len(event.choice), event.choice.echoed)
        self.strip.show(event.token)

    def use_endpoint(self, endpoint: Endpoint) -> None:
        """Send to another endpoint from now on, which may apply its samplers in another order."""
        super().use_endpoint(endpoint)
        with suppress(BadValueError):
            self.inspector.set_sampling(_sampling(self.parameters.parameters), endpoint.samplers)

    @on(ParameterPanel.Changed)
    def _show_what_if(self, event: ParameterPanel.Changed) -> None:
        self.inspector.set_sampling(_sampling(event.parameters), self.endpoint.samplers)

    # --- copying ---------------------------------------------------------------------------------------

    def action_copy_error(self) -> None:
        """Copy what went wrong, whole."""
        if text := self.output.error.text:
            self.app.copy_to_clipboard(text)
        else:
            self.notify("There is no error.", markup=False, timeout=2)

    def copy_or_stop(self, top: Screen[object]) -> None:
        """Copy what is selected on the screen on top, else stop the stream."""
        focused = top.focused
        own = focused.selected_text if isinstance(focused, Input | TextArea) else ""
        if text := own or self.output.view.selected_text() or top.get_selected_text():
            self.app.copy_to_clipboard(text)
            # The next one stops: what is marked no longer stands in the way.
            top.clear_selection()
        else:
            self._runs.stop()
            self.stop_comparing()
            if self.talking is not None:
                self.talking.stop()


def _sampling(parameters: Parameters) -> Sampling:
    """What the panel holds of the parameters that reshape a distribution."""

    def number(name: str) -> float | None:
        value = parameters.get(name)
        return value if isinstance(value, int | float) else None

    top_k = number("top_k")
    return Sampling(
        number("temperature"), number("top_p"), None if top_k is None else int(top_k), number("min_p")
    )
