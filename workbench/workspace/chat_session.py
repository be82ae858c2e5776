"""The conversation of the open session: its turns, their changes, and the prompts rendered from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.domain.choice import Alternative, Choice
from workbench.domain.conversation import Chat, Role, Turn, Turns
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.request import Request
from workbench.domain.run import Parent, Run
from workbench.domain.variables import find_variables, unfilled
from workbench.runner.branching import branch_at
from workbench.runner.chat_request import ChatRequest, Prompter, answer_text
from workbench.workspace.notifications import Notification, SettingsChanged
from workbench.workspace.undo_history import ExchangeTurns, UseChat

if TYPE_CHECKING:
    from workbench.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request for an answer, prepared before the conversation is changed."""

    run: Run
    turn: Turn
    """The turn of the answer, whose text is still only the prefill."""
    made: ChatRequest
    label: str
    """Name of the change in the undo history."""
    message: Turn | None = None
    """The new user message before the answer, if any."""


class ChatSession:
    """The turns of a session, and the run of each answer; changes can be undone."""

    def __init__(
        self, workspace: Workspace, endpoint: Endpoint, draft: Request, *, is_shown: bool = True
    ) -> None:
        """`draft` provides model and parameters; its prompt is not used.

        `is_shown` fetches the endpoint's context size even where only the display needs it.
        """
        self.workspace = workspace
        self.endpoint = endpoint
        self.draft = draft
        self.prefill = ""
        """Text that the next answer begins with."""
        self.on_change: Callable[[], None] = lambda: None
        """Called whenever the turns shown or the prefill change."""
        self.preset = ""
        """Name of the preset of the parameters, recorded in each run; empty without one."""
        self._prompter = Prompter(workspace.services.connections, is_shown=is_shown)
        self._runs: dict[str, Run] = {}
        self._path: tuple[Turn, ...] | None = None

    def begin(self, endpoint: Endpoint, draft: Request) -> None:
        """Continue with another draft, and pick up runs added to the session since."""
        self.endpoint, self.draft = endpoint, draft
        self._runs |= {run.id: run for run in self.workspace.session.runs}
        self._path = None
        self._settle_answers()

    def note_settings(self, notification: Notification) -> None:
        """Update endpoint and draft when the settings change, for example by an undo."""
        if isinstance(notification, SettingsChanged):
            self.workspace.conversation()
            self.on_change()

    async def aclose(self) -> None:
        """Stop the process that renders templates."""
        await self._prompter.aclose()

    # --- state -------------------------------------------------------------------------------------------

    @property
    def chat(self) -> Chat:
        """The session's conversation."""
        return self.workspace.session.chat

    @property
    def path(self) -> tuple[Turn, ...]:
        """The turns shown."""
        if self._path is None:
            self._path = self.chat.turns.path()
        return self._path

    def before(self, turn: Turn) -> tuple[Turn, ...]:
        """The turns before a turn in its branch, whether or not that branch is shown."""
        return self.chat.turns.ending_with(turn.parent).path()

    @property
    def variables(self) -> Mapping[str, str]:
        """The values of the variables, by name."""
        return self.workspace.session.variables

    def run_of(self, turn: Turn) -> Run | None:
        """The run of an answer; None for a user's turn, or if the session no longer has the run."""
        return self._runs.get(turn.run)

    def runs_of(self, turn: Turn) -> list[Run]:
        """The runs of an answer, oldest first, each continuing the one before it."""
        runs: list[Run] = []
        run = self.run_of(turn)
        while run is not None and run not in runs:
            runs.insert(0, run)
            is_more = run.parent is not None and run.parent.kind == "continue"
            run = self._runs.get(run.parent.run) if is_more and run.parent is not None else None
        return runs

    # --- prompts -----------------------------------------------------------------------------------------

    async def preview(self, message: str, beside: Turn | None = None) -> ChatRequest:
        """Return the request for a message after the turns shown, or as a branch `beside` a turn.

        Starts the local server only where its own template renders the prompt.

        Raises EngineError, EndpointError, StorageError, TemplateError or BadValueError.
        """
        path = self.path if beside is None else self.before(beside)
        # An answer needs a user turn before it: without a message, an empty one.
        if message or not path or path[-1].role != Role.USER:
            path = (*path, Turn(Role.USER, message))
        return await self._request(path, self.prefill, self.draft, sending=False)

    async def _request(
        self, path: Sequence[Turn], prefill: str, draft: Request, *, sending: bool
    ) -> ChatRequest:
        conversation = self.chat.conversation(path, self.variables, prefill)
        return await self._prompter.request(
            self.chat, conversation, self.endpoint, draft.model, draft.parameters, sending=sending
        )

    def unfilled(self, message: str) -> list[str]:
        """The variables without a value in the conversation followed by a message."""
        return self._without_value((*self.path, Turn(Role.USER, message)), self.prefill)

    def _without_value(self, path: Sequence[Turn], prefill: str) -> list[str]:
        written = [self.chat.system or "", *(turn.text for turn in path if not turn.run), prefill]
        names = dict.fromkeys(name for text in written for name in find_variables(text))
        return [name for name in names if name not in self.variables]

    # --- answers -----------------------------------------------------------------------------------------

    async def propose_message(self, message: str, beside: Turn | None = None) -> Proposal:
        """Prepare a message after the turns shown, or as a branch `beside` a turn.

        Raises the same errors as `preview`.
        """
        path = self.path if beside is None else self.before(beside)
        turn = Turn(Role.USER, message, parent=path[-1].id if path else "")
        proposal = await self._propose("the turn" if beside is None else "the edited turn", (*path, turn))
        return replace(proposal, message=turn)

    async def reply(self) -> Proposal:
        """Prepare an answer to the last turn, or continue it if it is an answer. Raises like `preview`."""
        if self.path and self.path[-1].role == Role.ASSISTANT:
            return await self.continue_answer(self.path[-1])
        return await self._propose("the answer", self.path)

    async def answer_again(self, turn: Turn) -> Proposal:
        """Prepare another answer to a message, or beside an answer, as a branch. Raises like `preview`."""
        path = (*self.before(turn), turn) if turn.role == Role.USER else self.before(turn)
        # A pinned seed would give the same answer again.
        seed = None if self.draft.parameters.get("seed") is None else random.getrandbits(31)
        return await self._propose("the other answer", path, seed=seed)

    async def continue_answer(self, turn: Turn) -> Proposal:
        """Prepare the continuation of an answer from its end, as a branch. Raises like `preview`."""
        parent = None
        if (run := self.run_of(turn)) is not None:
            parent = Parent(run.id, turn.choice, len(run.choice(turn.choice)), kind="continue")
        return await self._propose("the continued answer", self.before(turn), turn.text, parent)

    async def branch(self, turn: Turn, choice: Choice, position: int, alternative: Alternative) -> Proposal:
        """Prepare a branch that replaces a token of an answer by an alternative. Raises like `preview`."""
        run = self.run_of(turn)
        if run is None:
            raise BadValueError("This answer has no run", hint="Only what a model answered has alternatives.")
        parent = branch_at(run, choice, position, alternative).parent
        kept = turn.text.removesuffix(answer_text(run, turn.choice))
        begin = kept + "".join(choice.texts(choice.echoed, position)) + alternative.text
        return await self._propose("the branch", self.before(turn), begin, parent)

    async def to_compare(self, turn: Turn) -> ChatRequest:
        """Return the request for another answer at a turn, to compare presets. Raises like `preview`."""
        path = (*self.before(turn), turn) if turn.role == Role.USER else self.before(turn)
        return (await self._propose("", path)).made

    def take_answer(self, turn: Turn, run: Run) -> None:
        """Add a run of a comparison as another answer to a message, or beside an answer."""
        if run.tokens:
            parent = turn.id if turn.role == Role.USER else turn.parent
            run.turn, self._runs[run.id] = parent, run
            answer = Turn(Role.ASSISTANT, answer_text(run), run=run.id, parent=parent)
            self._change("the answer compared", self._with(answer))

    async def _propose(
        self,
        label: str,
        path: Sequence[Turn],
        prefill: str | None = None,
        parent: Parent | None = None,
        seed: int | None = None,
    ) -> Proposal:
        """Prepare an answer to the last turn of `path`, beginning with `prefill`, whose run has `parent`.

        `seed` replaces the draft's.
        """
        prefill = self.prefill if prefill is None else prefill
        if not path:
            raise BadValueError("No message to answer", hint="Type a message first.")
        if self.variables and (names := self._without_value(path, prefill)):
            raise unfilled(names)
        draft, added = self.draft, ("seed",) * (seed is not None)
        if seed is not None:
            draft = draft._replace(parameters=draft.parameters.set("seed", seed))
        made = await self._request(path, prefill, draft, sending=True)
        last = path[-1].id
        run = Run(
            made.request,
            self.endpoint.name,
            parent=parent,
            preset=self.preset,
            added=(*added, *("stop",) * bool(made.stop)),
            turn=last,
        )
        for note in made.notes:
            run.note(note)
        return Proposal(run, Turn(Role.ASSISTANT, prefill, run=run.id, parent=last), made, label)

    def accept(self, proposal: Proposal) -> None:
        """Add the turns of a proposal to the conversation; the caller sends its run."""
        self._runs[proposal.run.id] = proposal.run
        turns = [proposal.turn]
        if proposal.message is not None:
            self.prefill = ""
            turns.insert(0, proposal.message)
        self._change(proposal.label, self._with(*turns))

    def ended(self, run: Run) -> None:
        """Add the text of a finished run to its answer."""
        turns = self.chat.turns
        if (turn := next((other for other in turns.all if other.run == run.id), None)) is not None:
            whole = replace(turn, text=turn.text + answer_text(run, turn.choice))
            self._set(self.chat._replace(turns=turns.changed(whole)))

    def _settle_answers(self) -> None:
        """Complete answers after a crash, which recovers runs but not the text of their turns."""
        turns = self.chat.turns
        for turn in turns.all:
            run = self.run_of(turn)
            if run is None or run.is_running:
                continue
            answer = answer_text(run, turn.choice)
            if not turn.text.endswith(answer):
                turns = turns.changed(replace(turn, text=turn.text + answer))
        if turns is not self.chat.turns:
            self._set(self.chat._replace(turns=turns))

    # --- changes -----------------------------------------------------------------------------------------

    def rewrite(self, turn: Turn, text: str) -> None:
        """Replace the text of a turn, as a branch without an answer."""
        self._change("the edited turn", self._with(Turn(turn.role, text, parent=turn.parent)))

    def delete(self, turn: Turn) -> None:
        """Delete a turn and all turns after it; their runs stay in the session."""
        self._change("the deleted turn", self.chat.turns.without([turn.id]))

    def show_branch(self, turn: Turn, step: int) -> bool:
        """Show the branch `step` positions further at a turn; return False if there is none."""
        turns = self.chat.turns.beside(turn, step)
        if turns is self.chat.turns:
            return False
        self._set(self.chat._replace(turns=turns))
        return True

    def recall_message(self) -> str:
        """Remove the last message and its answers; return the message, empty if there is none."""
        message = next((turn for turn in reversed(self.path) if turn.role == Role.USER), None)
        if message is None:
            return ""
        self._change("the recalled message", self.chat.turns.without([message.id]))
        return message.text

    def configure(self, label: str, chat: Chat) -> None:
        """Replace the system prompt, template and truncation rule, but not the turns."""
        self.workspace.history.record(label, self.apply(UseChat(chat)))

    def _with(self, *turns: Turn) -> Turns:
        now = self.chat.turns
        for turn in turns:
            now = now.with_turn(turn)
        return now

    def _change(self, label: str, turns: Turns) -> None:
        before = self.chat.turns
        self._set(self.chat._replace(turns=turns))
        self.workspace.history.record(label, _back_to(before, turns))

    def apply(self, step: UseChat | ExchangeTurns) -> UseChat | ExchangeTurns:
        """Apply a step of the undo history; return the step that undoes it."""
        now = self.chat
        if isinstance(step, UseChat):
            self._set(step.chat._replace(turns=now.turns))
            return UseChat(now)
        turns = now.turns.without(step.out).with_all(step.back, step.last)
        self._set(now._replace(turns=turns))
        return _back_to(now.turns, turns)

    def _set(self, chat: Chat) -> None:
        self.workspace.keeper.keep_chat(chat)
        self.turns_changed()

    def set_prefill(self, text: str) -> None:
        """Set the text that the next answer begins with."""
        self.prefill = text
        self.on_change()

    def turns_changed(self) -> None:
        """Refresh the turns shown after the conversation changed."""
        self._path = None
        self.on_change()


def _back_to(before: Turns, after: Turns) -> ExchangeTurns:
    """Return the step that undoes a change of turns."""
    had, has = {turn.id for turn in before.all}, {turn.id for turn in after.all}
    back = tuple(turn for turn in before.all if turn.id not in has)
    return ExchangeTurns(frozenset(has - had), back, before.last)
