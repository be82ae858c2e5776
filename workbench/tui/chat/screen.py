"""The chat screen: the turns, the exact prompt and the composer; every answer is a run of the session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, TypeVar

from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static, TextArea

from workbench.domain.colour_modes import Mode
from workbench.domain.conversation import Role
from workbench.domain.display import one_line, visible
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.run import Run
from workbench.runner.chat_request import ChatRequest
from workbench.tui.chat.chat_header import FULL, ChatHeader, gauge_of
from workbench.tui.chat.composer import Composer
from workbench.tui.chat.turns_pane import TurnsPane
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks, flows_of
from workbench.tui.main.inspector import Inspector
from workbench.tui.motion import Frames
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.tokenizing import has_tokenizer
from workbench.workspace.activity import Activity
from workbench.workspace.chat_session import ChatSession, Proposal
from workbench.workspace.costs import cost_of
from workbench.workspace.run_state import RunState, state_of_newest

T = TypeVar("T")
Making: TypeAlias = Callable[[], Awaitable[T]]
"""Prepares a request for an answer, which may take a while. Raises WorkbenchError."""

_ABOUT_EVERY = 8
"""Frames between updates of the first row."""
_PAUSE = 0.3
"""Seconds without a key after which the prompt is rendered and counted again."""
_PREPARING = RunState("◌", "preparing", "accent")


class ChatScreen(ResultScreen[str]):
    """Shows the conversation; returns the exact prompt to continue with in the prompt editor, or None."""

    DEFAULT_CSS = """
    ChatScreen #problem { height: auto; max-height: 4; display: none; padding: 0 1; color: $text-error; }
    ChatScreen.-failed #problem { display: block; }
    ChatScreen.-narrow Inspector { display: none; }
    ChatScreen.-narrow TurnsPane.-inspecting Inspector { display: block; }
    ChatScreen.-narrow TokenStrip { display: block; }
    """
    BINDINGS = bindings_at(Where.CHAT)
    where = Where.CHAT

    turns = getters.query_one(TurnsPane)
    composer = getters.query_one(Composer)
    about = getters.query_one(ChatHeader)
    keys = getters.query_one(KeyRow)

    def __init__(self, chat: ChatSession, mode: Mode) -> None:
        super().__init__()
        self.chat = chat
        self._mode = mode
        self.answering = Activity(chat.workspace.services, self._ended)
        """The answer that streams."""
        self.is_preparing = False
        """Whether a prompt to send is being rendered, for which the local model may have to start."""
        self._frames = Frames(self, self._frame)
        self._drawn = 0
        self._pausing: Timer | None = None

    def compose(self) -> ComposeResult:
        yield ChatHeader(self.chat)
        yield TurnsPane(self.chat, self._mode)
        yield Static(id="problem", markup=False)
        yield Composer(self.chat)
        yield KeyRow(Where.CHAT)

    def on_mount(self) -> None:
        """Follow changes of the conversation, and focus the composer."""
        self.chat.on_change = self._show_change
        self.chat.workspace.subscribe(self.chat.note_settings)
        self.set_focus(self.composer)
        self.show_about()

    async def on_unmount(self) -> None:
        """Stop the answer, and end the process that renders templates."""
        self.chat.on_change = lambda: None
        self.chat.workspace.unsubscribe(self.chat.note_settings)
        await self.answering.aclose()
        await self.chat.aclose()

    # --- notifications -----------------------------------------------------------------------------------

    def show_about(self) -> None:
        """Update the first row and the keys."""
        if self.is_attached:
            self.keys.running = self.answering.is_running or self.is_preparing
            self.about.show_state(_PREPARING if self.is_preparing else state_of_newest(self.answering))

    def show_problem(self, problem: str) -> None:
        """Show an error above the composer; an empty text removes it."""
        self.set_class(bool(problem), "-failed")
        self.query_one("#problem", Static).update(Content(visible(problem)))

    @on(TurnsPane.NotDone)
    def _show_not_done(self, event: TurnsPane.NotDone) -> None:
        self.show_problem(event.why)

    def _show_change(self) -> None:
        if self.is_attached:
            self.turns.show_turns()
            self.show_about()
            self.composer.describe()
            self._make_prompt_soon()

    def _frame(self) -> None:
        self.turns.view.pull()
        self._drawn += 1
        if self._drawn % _ABOUT_EVERY == 0:
            self.show_about()

    # --- the exact prompt --------------------------------------------------------------------------------

    @on(TextArea.Changed, "#composer")
    def _make_prompt_soon(self) -> None:
        """Render the next prompt after a pause in typing."""
        if self._pausing is not None:
            self._pausing.stop()
        # The local model is not started only to count tokens.
        if self.turns.is_previewing or has_tokenizer(self.chat.workspace.services, self.chat.endpoint):
            self._pausing = self.set_timer(_PAUSE, self._make_prompt)

    @work(exclusive=True, group="prompt")
    async def _make_prompt(self) -> None:
        try:
            made = await self.chat.preview(self.composer.text, self.composer.editing)
        except WorkbenchError as problem:
            if isinstance(problem, BadValueError) and problem.field == "prompt":
                self.about.gauge = FULL
                self.show_about()
            if self.turns.is_previewing:
                self.show_problem(str(problem))
                self.turns.preview.show_problem(problem)
            return
        self.show_problem("")
        self._show_made(made)

    def _show_made(self, made: ChatRequest) -> None:
        """Update the context gauge, the turns left out, and the preview of the prompt if it is open."""
        if (gauge := gauge_of(made)) is not None:
            self.about.gauge = gauge
            self.show_about()
        dropped = made.left_out.dropped if made.left_out is not None else range(0)
        if dropped != self.turns.left_out:
            self.turns.left_out = dropped
            self.turns.show_turns()
        if self.turns.is_previewing:
            self.turns.preview.show_made(made, self.chat.unfilled(self.composer.text))

    def action_prompt_preview(self) -> None:
        """Show or hide the exact prompt that sending the composer's text would use."""
        self.turns.is_previewing = not self.turns.is_previewing
        if self.turns.is_previewing:
            self.turns.preview.border_subtitle = "rendering…"
            self._make_prompt()
        else:
            self.show_problem("")

    @work(exclusive=True, group="prompt")
    async def action_to_raw(self) -> None:
        """Close, and continue with the exact prompt in the prompt editor; cancel a message being prepared."""
        if self.is_preparing:
            flows_of(self.app).stop()
        try:
            made = await self.chat.preview(self.composer.text, self.composer.editing)
        except WorkbenchError as problem:
            self.show_problem(str(problem))
            return
        self.dismiss(made.rendered.prompt)

    # --- focus -------------------------------------------------------------------------------------------

    @on(events.DescendantFocus)
    def _show_keys(self) -> None:
        self.keys.where = Where.CHAT if self.focused is self.composer else Where.TURNS
        if self.focused is not self.turns.inspector:
            self.turns.remove_class("-inspecting")

    def action_focus_view(self) -> None:
        """Focus the turns."""
        self.set_focus(self.turns.view)

    def action_focus_composer(self) -> None:
        """Focus the composer."""
        self.set_focus(self.composer)

    @asks
    async def action_jump_to_turn(self, flow: FlowContext) -> None:
        """Choose a turn by its number or text, and go to it."""
        items = [
            Item(str(index), f"{index + 1} {turn.role}", one_line(turn.text, 100))
            for index, turn in enumerate(self.chat.path)
        ]
        current = len(items) - 1 if self.turns.current is None else self.turns.current
        if (chosen := await flow.ask(Picker("Turns", items, chosen=str(current)))) is not None:
            self.set_focus(self.turns.view)
            self.turns.go_to(int(chosen))

    def action_leave_chat(self) -> None:
        """Stop the answer; else stop editing, close the inspector or the preview; else close."""
        if self.answering.is_running or self.is_preparing:
            flows_of(self.app).stop()
            return
        if self.composer.stop_editing() or self.turns.has_class("-inspecting"):
            self.set_focus(self.turns.view)
        elif self.turns.is_previewing:
            self.action_prompt_preview()
        else:
            self.dismiss(None)

    @asks
    async def action_palette(self, flow: FlowContext) -> None:
        """List the commands of this screen with their keys, and run the one chosen."""
        wheres = Where.CHAT, Where.TURNS
        # A command with a key for each digit needs a digit.
        found = {
            command.id: command
            for command in flow.commands
            if command.where in wheres and len(command.actions) <= 2
        }
        items = [
            Item(command.id, command.title, command.help, command.key_label) for command in found.values()
        ]
        id = await flow.ask(Picker("Chat", items, note="type to filter · Enter run · Esc close"))
        if id is not None and found[id].where is Where.TURNS:
            self.set_focus(self.turns.view)
            await self.app.run_action(found[id].first_action, self.turns)
        elif id is not None:
            await self.run_action(found[id].first_action)

    # --- answers -----------------------------------------------------------------------------------------

    def action_say(self) -> None:
        """Send the message, or replace the text of the turn being edited."""
        text, editing = self.composer.text, self.composer.editing
        if editing is not None and editing.role != Role.USER:
            self.chat.rewrite(editing, text)
            self.composer.stop_editing()
            self.set_focus(self.turns.view)
        elif text.strip():
            self.send(partial(self.chat.propose_message, text, editing))

    @asks
    async def send(self, flow: FlowContext, propose: Making[Proposal]) -> None:
        """Prepare a request and send it; if that is not possible, show why and keep the text typed."""
        if not self.may_change():
            return
        proposal = await self.prepared(propose)
        if proposal is None:
            return
        run = proposal.run
        if not await flow.agreed(cost_of(self.chat.endpoint, run.request)):
            return
        self.show_problem("")
        self.chat.accept(proposal)
        if proposal.message is not None and self.composer.take_sent(proposal.message.text):
            self.set_focus(self.turns.view)
        self.chat.workspace.keeper.began(run)
        self.answering.start(run, self.chat.endpoint)
        self.turns.current = None
        self._show_made(proposal.made)
        self.turns.show_turns()
        if self.focused is self.turns.inspector:
            self.set_focus(self.turns.view)
        # Scroll to the new answer, even if another turn was in view.
        self.turns.view.scroll_to(y=self.turns.view.max_scroll_y, animate=False, force=True)
        self._frames.resume()

    async def prepared(self, make: Making[T]) -> T | None:
        """Prepare a request, showing that it is under way; if it fails, show the error and return None."""
        self.is_preparing = True
        self.show_about()
        try:
            return await make()
        except WorkbenchError as problem:
            self.show_problem(f"Nothing was sent. {problem}")
            return None
        finally:
            self.is_preparing = False
            self.show_about()

    def _ended(self, run: Run) -> None:
        self.chat.workspace.runs.keep_compared(run)
        self.chat.ended(run)
        self._frames.pause()
        if self.is_attached:
            self._frame()
            self.show_about()

    def action_answer_again(self) -> None:
        """Generate another answer at the turn, as a branch."""
        if (turn := self.turns.turn) is not None:
            self.send(partial(self.chat.answer_again, turn))

    def action_go_on(self) -> None:
        """Continue a truncated answer, or answer a message, as a branch."""
        turn = self.turns.turn
        if turn is not None and turn.role == Role.ASSISTANT:
            self.send(partial(self.chat.continue_answer, turn))
        elif turn is not None:
            self.send(partial(self.chat.answer_again, turn))

    def action_branch_with(self, digit: int) -> None:
        """Regenerate from the token under the cursor, replacing it with an alternative, counted from 1."""
        if (taken := self.turns.alternative(digit - 1)) is not None:
            self.send(partial(self.chat.branch, *taken))

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        self.action_branch_with(event.position + 1)

    # --- changing turns ----------------------------------------------------------------------------------

    def may_change(self) -> bool:
        """Return whether turns can be changed now; if not, show why."""
        is_free = not (self.answering.is_running or self.is_preparing)
        if not is_free:
            key = key_of(self.app, "leave_chat")
            self.show_problem(f"An answer is streaming: stop it with {key}, or wait for its end.")
        return is_free

    def action_other_branch(self, step: int) -> None:
        """Show the next or previous branch at the turn."""
        if (turn := self.turns.turn) is not None and self.may_change():
            index = self.chat.path.index(turn)
            if self.chat.show_branch(turn, step):
                self.turns.go_to(index)
            else:
                where = "after" if step > 0 else "before"
                self.notify(f"There is no branch {where} this one.", timeout=3)

    def action_edit_turn(self) -> None:
        """Edit the turn in the composer; sending it makes a branch."""
        if (turn := self.turns.turn) is not None and self.may_change():
            self.composer.edit_turn(turn)
            self.set_focus(self.composer)

    def action_delete_turn(self) -> None:
        """Delete the turn and all turns after it, which can be undone."""
        if (turn := self.turns.turn) is not None and self.may_change():
            after = len(self.chat.path) - self.chat.path.index(turn) - 1
            self.chat.delete(turn)
            more = f" and the {after} after it" if after else ""
            self.notify(f"Deleted the turn{more}. {key_of(self.app, 'turns_undo')} restores it.", timeout=4)

    def action_take_back(self) -> None:
        """Remove the last message and its answers; put it back into the composer if that is empty."""
        if self.composer.editing is not None or not self.may_change():
            return
        message = self.chat.recall_message()
        if not self.composer.text:
            self.composer.set_text(message)

    def action_undo(self) -> None:
        """Undo the last change."""
        if self.may_change():
            self.chat.workspace.undo()

    def action_redo(self) -> None:
        """Redo what was undone last."""
        if self.may_change():
            self.chat.workspace.redo()
