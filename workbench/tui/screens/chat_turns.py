"""What the chat screen does with turns: going to them, folding, editing, answering again, deleting."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial

from textual import on

from workbench.domain.conversation import Role
from workbench.domain.display import one_line
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Run
from workbench.domain.turns import Turn
from workbench.tui.alternative_rows import no_alternative
from workbench.tui.compare.flow import compare_request, rerun
from workbench.tui.flows import FlowContext, asks
from workbench.tui.main.inspector import Inspector
from workbench.tui.popups.naming import Naming
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.replay.screen import ReplayScreen
from workbench.tui.screens.chat_prompt import ChatPromptScreen
from workbench.tui.theme.token_styles import TokenStyles
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.turn_sections import TurnSections, key_of
from workbench.tui.widgets.turn_view import TurnView
from workbench.workspace.chat_session import ChatSession, Proposal


class ChatTurnsScreen(ChatPromptScreen):
    """Keys for whole turns; each change can be undone, and no run is ever lost."""

    def __init__(self, chat: ChatSession, styles: TokenStyles) -> None:
        super().__init__(chat, styles)
        self.current: int | None = None
        """The place of the turn that keys work on; None is the last one."""
        self._sections = TurnSections(chat)
        self._folded: set[str] = set()
        self._before_editing = ""

    def send(self, proposing: Coroutine[object, object, Proposal]) -> None:
        """Send for an answer."""
        raise NotImplementedError

    # --- showing -----------------------------------------------------------------------------------------

    def show_turns(self) -> None:
        """Show the turns as they are now."""
        if self.current is not None and self.current >= len(self.chat.path):
            self.current = None
        self.view.set_sections(self._sections.of(self.current, self._folded, self.left_out))

    @property
    def turn(self) -> Turn | None:
        """The turn that keys work on."""
        path = self.chat.path
        return path[-1 if self.current is None else self.current] if path else None

    def go_to(self, place: int) -> None:
        """Let keys work on a turn, and show it."""
        path = self.chat.path
        if path:
            self._mark(max(min(place, len(path) - 1), 0))
            self.view.show_section(key_of(path[self.current or 0]))

    def _mark(self, place: int | None) -> None:
        """Show which turn keys work on; no other turn of thousands is looked at for it."""
        before, self.current = self.current, place
        if before == place:
            return
        for one, is_current in ((before, False), (place, True)):
            if one is not None and one < len(self.chat.path):
                for section in self._sections.marked(self.chat.path[one], is_current=is_current):
                    self.view.update_section(section)

    def action_turn(self, step: int) -> None:
        """Go to the next or previous turn."""
        last = len(self.chat.path) - 1
        self.go_to(last if self.current is None and step < 0 else (self.current or 0) + step)

    @on(TokenView.CursorMoved)
    @on(TurnView.TurnClicked)
    def _go_with_cursor(self, event: TokenView.CursorMoved | TurnView.TurnClicked) -> None:
        id = event.key.partition(":")[0]
        place = next((place for place, turn in enumerate(self.chat.path) if turn.id == id), None)
        self._mark(place)

    @asks
    async def action_jump_to_turn(self, flow: FlowContext) -> None:
        """Choose a turn by its number or its words."""
        items = [
            Item(str(place), f"{place + 1} {turn.role}", one_line(turn.text, 100))
            for place, turn in enumerate(self.chat.path)
        ]
        here = len(items) - 1 if self.current is None else self.current
        place = await flow.ask(Picker("Turns", items, chosen=str(here)))
        if place is not None:
            self.set_focus(self.view)
            self.go_to(int(place))

    def action_fold(self) -> None:
        """Fold the turn, or unfold it."""
        if (turn := self.turn) is not None:
            self._folded ^= {turn.id}
            self.show_turns()

    def action_fold_all(self) -> None:
        """Fold all turns, or unfold all where all are folded."""
        ids = {turn.id for turn in self.chat.path}
        self._folded = set() if ids <= self._folded else ids
        self.show_turns()
        self.go_to(len(self.chat.path) - 1 if self.current is None else self.current)

    # --- changing ----------------------------------------------------------------------------------------

    def _may_change(self) -> bool:
        is_free = not (self.answering.is_running or self.preparing)
        if not is_free:
            self.tell("An answer streams: stop it with Esc, or wait for its end.")
        return is_free

    def action_other_branch(self, step: int) -> None:
        """Show the next or previous branch at the turn."""
        if (turn := self.turn) is not None and self._may_change():
            place = self.chat.path.index(turn)
            if self.chat.show_branch(turn, step):
                self.go_to(place)
            else:
                where = "after" if step > 0 else "before"
                self.notify(f"There is no branch {where} this one.", markup=False, timeout=3)

    def action_edit_turn(self) -> None:
        """Take the turn's text into the composer; sending it makes a branch beside the turn."""
        if (turn := self.turn) is None or not self._may_change():
            return
        if self.editing is None:
            self._before_editing = self.composer.text
        self.editing = turn
        self.composer.text = turn.text
        self.composer.move_cursor(self.composer.document.end)
        self.title_composer(turn)
        self.set_focus(self.composer)

    def stop_editing(self) -> None:
        """Have the composer as it was before a turn was edited."""
        if self.editing is not None:
            self.editing = None
            self.composer.text = self._before_editing
            self.set_focus(self.view)
        self.title_composer()

    def action_answer_again(self) -> None:
        """Another answer in the turn's place, as a branch."""
        if (turn := self.turn) is not None:
            self.send(self.chat.answer_again(turn))

    def action_go_on(self) -> None:
        """Let the answer go on where it ended, as a branch."""
        turn = self.turn
        if turn is not None and turn.role == Role.ASSISTANT:
            self.send(self.chat.go_on(turn))
        elif turn is not None:
            self.send(self.chat.answer_again(turn))

    def action_delete_turn(self) -> None:
        """Take the turn and all after it out of the conversation; undo brings them back."""
        if (turn := self.turn) is not None and self._may_change():
            after = len(self.chat.path) - self.chat.path.index(turn) - 1
            self.chat.delete(turn)
            more = f" and the {after} after it" if after else ""
            self.notify(f"Deleted the turn{more}. u brings it back.", markup=False, timeout=4)

    def action_undo(self) -> None:
        """Take back the newest change."""
        if self._may_change():
            self.chat.workspace.undo()

    def action_redo(self) -> None:
        """Make the change last taken back again."""
        if self._may_change():
            self.chat.workspace.redo()

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        self.action_branch_with(event.position + 1)

    def action_branch_with(self, digit: int) -> None:
        """Answer anew from the token under the cursor on, with a numbered alternative in its place."""
        if self.view.cursor is None:
            self.notify("Press ← or → to select a token first.", markup=False, timeout=3)
            return
        key, position = self.view.cursor
        id, _, part = key.partition(":")
        turn = next((one for one in self.chat.path if one.id == id), None)
        section = next((one for one in self.view.sections if one.key == key), None)
        if turn is None or section is None or section.choice is None:
            return
        if int(part) < len(self.chat.runs_of(turn)) - 1:
            self.tell("This part was answered before the answer went on: show that branch with < first.")
            return
        alternatives = section.choice.token(position).alternatives
        if digit <= len(alternatives):
            self.send(self.chat.branch(turn, section.choice, position, alternatives[digit - 1]))
        else:
            self.notify(no_alternative(digit, len(alternatives)), markup=False, timeout=3)

    @asks
    async def action_compare_answers(self, flow: FlowContext) -> None:
        """Let several presets answer at the turn's place; each answer becomes a branch."""
        if (turn := self.turn) is None or not self._may_change():
            return
        self.preparing = True
        try:
            made = await self.chat.to_compare(turn)
        except WorkbenchError as problem:
            self.tell(f"Nothing was sent. {problem}")
            return
        finally:
            self.preparing = False
        await compare_request(flow, made.request, partial(self._take_answer, turn))

    def _take_answer(self, turn: Turn, run: Run) -> None:
        self.chat.take_answer(turn, run)
        self.chat.workspace.runs.keep_compared(run)

    # --- reading -----------------------------------------------------------------------------------------

    def action_copy_turn(self) -> None:
        """Copy what is selected, else the turn's exact text."""
        text = self.view.selected_text() or (self.turn.text if self.turn is not None else "")
        if text:
            self.app.copy_to_clipboard(text)

    def _run_of_turn(self) -> Run | None:
        run = self.chat.run_of(self.turn) if self.turn is not None else None
        if run is None or run.is_running:
            self.tell("Go to an answer: only a run that has ended can be played or sent again.")
            return None
        return run

    @asks
    async def action_find(self, flow: FlowContext) -> None:
        """Find a text in the answers; n and N go on to others."""
        text = await flow.ask(Naming("Find in the answers", "", may_be_empty=True))
        if text is not None and not self.view.find(text) and text:
            self.tell(f"No answer shown holds {text!r}.")

    @asks
    async def action_replay(self, flow: FlowContext) -> None:
        """Play the answer again, offline, at its recorded pace."""
        if (run := self._run_of_turn()) is not None:
            number = self.chat.path.index(self.turn) + 1 if self.turn is not None else 0
            await flow.ask(ReplayScreen(run, flow.styles, number=number, mode=self.view.mode))

    @asks
    async def action_rerun(self, flow: FlowContext) -> None:
        """Send the answer's exact prompt again and compare."""
        if (run := self._run_of_turn()) is not None:
            await rerun(flow, run)
