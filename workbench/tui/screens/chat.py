"""The chat screen: turns one after another over plain completions, with the exact prompt one key away."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.timer import Timer
from textual.widgets import TextArea

from workbench.domain.conversation import Role
from workbench.domain.errors import WorkbenchError
from workbench.domain.reading import Mode
from workbench.domain.run import Run
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks
from workbench.tui.screens.chat_settings import ChatSettingsScreen
from workbench.tui.theme.token_styles import TokenStyles
from workbench.workspace.chat_session import ChatSession, Proposal
from workbench.workspace.costs import cost_of

_FRAMES_A_SECOND = 30
_ABOUT_EVERY = 8
"""Frames from one showing of the state to the next."""


class ChatScreen(ChatSettingsScreen):
    """A conversation; every answer is a run of the session, with its colours and figures."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Where.CHAT)

    def __init__(self, chat: ChatSession, styles: TokenStyles, mode: Mode) -> None:
        super().__init__(chat, styles)
        self._frames: Timer | None = None
        self._looked = 0
        self._first_mode = mode

    def on_mount(self) -> None:
        """Show the conversation so far, and what was being written."""
        self.view.mode = self._first_mode
        self.chat.on_change = self._changed
        self._frames = self.set_interval(1 / _FRAMES_A_SECOND, self._frame, pause=True)
        self.composer.text = self.chat.workspace.keeper.composed
        self.composer.move_cursor(self.composer.document.end)
        self.show_turns()

    async def settle(self) -> None:
        """Stop what streams, and wait until it was kept."""
        await self.answering.aclose()

    async def on_unmount(self) -> None:
        """Stop what streams, and end the process that renders."""
        self.chat.on_change = lambda: None
        await self.settle()
        await self.chat.aclose()

    @property
    def is_streaming(self) -> bool:
        """Whether an answer streams."""
        return self.answering.is_running

    def stop(self) -> bool:
        """Stop what streams; what came is kept. False where nothing streams."""
        return self.answering.stop()

    def _changed(self) -> None:
        if self.is_attached:
            self.show_turns()
            self.show_about()
            self.title_composer(self.editing)
            self.prompt_changed()

    def _frame(self) -> None:
        self.view.pull()
        self._looked += 1
        if self._looked % _ABOUT_EVERY == 0:
            self.show_about()

    @on(TextArea.Changed, "#composer")
    def _keep_composed(self) -> None:
        # A turn that is being edited is in the conversation as it was; what was typed before comes back.
        if self.editing is None:
            self.chat.workspace.keeper.composed = self.composer.text

    # --- sending -----------------------------------------------------------------------------------------

    def action_say(self) -> None:
        """Send what the composer holds, or put it in the place of the turn that is edited."""
        text, editing = self.composer.text, self.editing
        if editing is not None and editing.role != Role.USER:
            self.chat.rewrite(editing, text)
            self.stop_editing()
        elif text.strip():
            self.send(self.chat.say(text, editing))

    @asks
    async def send(self, flow: FlowContext, proposing: Coroutine[object, object, Proposal]) -> None:
        """Send for an answer; where it cannot be sent, say why, and keep what was typed."""
        if self.answering.is_running or self.preparing:
            self.tell("An answer streams already: stop it with Esc, or wait for its end.")
            proposing.close()
            return
        self.preparing = True
        try:
            proposal = await proposing
            run = proposal.answering.run
            if not await flow.agreed(cost_of(self.chat.endpoint, run.request)):
                return
        except WorkbenchError as problem:
            self.tell(f"Nothing was sent. {problem}")
            return
        finally:
            self.preparing = False
        self.tell("")
        self.chat.accept(proposal)
        if proposal.said:
            self.composer.text = ""
            self.stop_editing()
        self.chat.workspace.keeper.began(run)
        self.answering.start(run, self.chat.endpoint)
        self.current = None
        self.show_made(proposal.answering.made)
        self.show_turns()
        if self.focused is self.inspector:
            self.set_focus(self.view)
        # Who asks for an answer wants to see it come, wherever they are.
        self.view.scroll_to(y=self.view.max_scroll_y, animate=False, force=True)
        if self._frames is not None:
            self._frames.resume()

    def _ended(self, run: Run) -> None:
        self.chat.workspace.runs.keep_compared(run)
        self.chat.ended(run)
        if self._frames is not None:
            self._frames.pause()
        if self.is_attached:
            self._frame()
            self.show_about()

    def action_leave_chat(self) -> None:
        """Stop the answer, else leave what is edited, else close the preview, else leave."""
        if self.answering.stop():
            return
        if self.editing is not None:
            self.stop_editing()
        elif self.has_class("-inspecting"):
            self.set_focus(self.view)
        elif self.has_class("-previewing"):
            self.action_prompt_preview()
        else:
            self.dismiss(None)

    def action_take_back(self) -> None:
        """Put the last thing said back into the composer; its run stays in the session."""
        if self.answering.is_running or self.editing is not None:
            return
        said = self.chat.take_back()
        if not self.composer.text:
            self.composer.text = said
