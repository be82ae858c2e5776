"""The conversation of the open session: its turns, what is done to them, and the prompts that they make."""

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
from workbench.workspace.undo_history import ExchangeTurns, UseChat

if TYPE_CHECKING:
    from workbench.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be sent for another answer, before anything is changed."""

    run: Run
    turn: Turn
    """The answer, which has only the prefill yet."""
    made: ChatRequest
    label: str
    """What the change of the conversation is called."""
    message: Turn | None = None
    """A person's message, which the answer follows."""


class ChatSession:
    """The turns of a session, each answer with the run that gave it; every change of them can be undone."""

    def __init__(
        self, workspace: Workspace, endpoint: Endpoint, draft: Request, *, is_shown: bool = True
    ) -> None:
        """`draft` gives model and parameters; its prompt is not used.

        `is_shown` asks an endpoint for its context also where only what a person sees depends on it.
        """
        self.workspace = workspace
        self.endpoint = endpoint
        self.draft = draft
        self.prefill = ""
        """How the next answer begins."""
        self.on_change: Callable[[], None] = lambda: None
        """Told whenever other turns are shown than before."""
        self.preset = ""
        """Name of the preset that the parameters are of, noted with each run."""
        self._prompter = Prompter(workspace.services.connections, is_shown=is_shown)
        self._runs: dict[str, Run] = {}
        self._path: tuple[Turn, ...] | None = None

    def begin(self, endpoint: Endpoint, draft: Request) -> None:
        """Go on talking, with another draft and what was added to the session meanwhile."""
        self.endpoint, self.draft = endpoint, draft
        self._runs |= {run.id: run for run in self.workspace.session.runs}
        self._path = None
        self._settle_answers()

    async def aclose(self) -> None:
        """End the process that renders."""
        await self._prompter.aclose()

    # --- what there is -----------------------------------------------------------------------------------

    @property
    def chat(self) -> Chat:
        """The conversation as the session keeps it."""
        return self.workspace.session.chat

    @property
    def path(self) -> tuple[Turn, ...]:
        """The turns shown."""
        if self._path is None:
            self._path = self.chat.turns.path()
        return self._path

    def before(self, turn: Turn) -> tuple[Turn, ...]:
        """The turns that a turn answers or continues, whether or not it is among those shown."""
        return self.chat.turns.ending_with(turn.parent).path()

    @property
    def variables(self) -> Mapping[str, str]:
        """The values of variables, by name."""
        return self.workspace.session.variables

    def run_of(self, turn: Turn) -> Run | None:
        """The run that gave an answer; None for what a person wrote, and where the session lost it."""
        return self._runs.get(turn.run)

    def runs_of(self, turn: Turn) -> list[Run]:
        """The runs that gave an answer one after another, each continuing the one before it."""
        runs: list[Run] = []
        run = self.run_of(turn)
        while run is not None and run not in runs:
            runs.insert(0, run)
            is_more = run.parent is not None and run.parent.kind == "continue"
            run = self._runs.get(run.parent.run) if is_more and run.parent is not None else None
        return runs

    # --- prompts -----------------------------------------------------------------------------------------

    async def preview(self, message: str, beside: Turn | None = None) -> ChatRequest:
        """What saying something would send, after the turns shown or as another branch beside one.

        Starts nothing for it but what must render it.

        Raises EngineError, EndpointError, StorageError, TemplateError or BadValueError.
        """
        path = self.path if beside is None else self.before(beside)
        # An answer needs something to answer: without a message, an empty one stands in its place.
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
        """The variables without a value, if a message were sent."""
        return self._without_value((*self.path, Turn(Role.USER, message)), self.prefill)

    def _without_value(self, path: Sequence[Turn], prefill: str) -> list[str]:
        written = [self.chat.system or "", *(turn.text for turn in path if not turn.run), prefill]
        names = dict.fromkeys(name for text in written for name in find_variables(text))
        return [name for name in names if name not in self.variables]

    # --- answers -----------------------------------------------------------------------------------------

    async def propose_message(self, message: str, beside: Turn | None = None) -> Proposal:
        """Propose to send a message after the turns shown, or as another branch `beside` one.

        Raises what `preview` raises.
        """
        path = self.path if beside is None else self.before(beside)
        turn = Turn(Role.USER, message, parent=path[-1].id if path else "")
        proposal = await self._propose("the turn" if beside is None else "the edited turn", (*path, turn))
        return replace(proposal, message=turn)

    async def reply(self) -> Proposal:
        """An answer to the last turn, or its continuation if it is one. Raises what `preview` does."""
        if self.path and self.path[-1].role == Role.ASSISTANT:
            return await self.continue_answer(self.path[-1])
        return await self._propose("the answer", self.path)

    async def answer_again(self, turn: Turn) -> Proposal:
        """Another answer in an answer's place, or to a message, as a branch. Raises what `preview` does."""
        path = (*self.before(turn), turn) if turn.role == Role.USER else self.before(turn)
        parameters = self.draft.parameters
        if parameters.get("seed") is not None:
            # The pinned seed would only say the same once more.
            parameters = parameters.set("seed", random.getrandbits(31))
        draft = replace(self.draft, parameters=parameters)
        return await self._propose("the other answer", path, draft=draft)

    async def continue_answer(self, turn: Turn) -> Proposal:
        """Continue a truncated answer where it ended, as a branch. Raises what `preview` does."""
        parent = None
        if (run := self.run_of(turn)) is not None:
            parent = Parent(run.id, turn.choice, len(run.choice(turn.choice)), kind="continue")
        return await self._propose("the continued answer", self.before(turn), turn.text, parent)

    async def branch(self, turn: Turn, choice: Choice, position: int, alternative: Alternative) -> Proposal:
        """Regenerate from a token on, with an alternative in its place. Raises what `preview` does."""
        run = self.run_of(turn)
        if run is None:
            raise BadValueError("This answer has no run", hint="Only what a model answered has alternatives.")
        parent = branch_at(run, choice, position, alternative).parent
        kept = turn.text.removesuffix(answer_text(run, turn.choice))
        begin = kept + "".join(choice.texts(choice.echoed, position)) + alternative.text
        return await self._propose("the branch", self.before(turn), begin, parent)

    async def to_compare(self, turn: Turn) -> ChatRequest:
        """What would answer at a turn's place, for several presets. Raises what `preview` does."""
        path = (*self.before(turn), turn) if turn.role == Role.USER else self.before(turn)
        return (await self._propose("", path)).made

    def take_answer(self, turn: Turn, run: Run) -> None:
        """Keep a run of a comparison as another answer at a turn's place, beside the one shown."""
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
        draft: Request | None = None,
    ) -> Proposal:
        """An answer to the last turn of a path, which begins with a prefill and continues its parent run."""
        prefill = self.prefill if prefill is None else prefill
        if not path:
            raise BadValueError("No message to answer", hint="Type a message first.")
        if self.variables and (names := self._without_value(path, prefill)):
            raise unfilled(names)
        made = await self._request(path, prefill, draft or self.draft, sending=True)
        last = path[-1].id
        run = Run(made.request, self.endpoint.name, parent=parent, preset=self.preset, turn=last)
        for note in made.notes:
            run.note(note)
        return Proposal(run, Turn(Role.ASSISTANT, prefill, run=run.id, parent=last), made, label)

    def accept(self, proposal: Proposal) -> None:
        """Have the proposed turns, whose answer is to be sent now."""
        self._runs[proposal.run.id] = proposal.run
        turns = [proposal.turn]
        if proposal.message is not None:
            self.prefill = ""
            turns.insert(0, proposal.message)
        self._change(proposal.label, self._with(*turns))

    def ended(self, run: Run) -> None:
        """Keep the text of an answer whose run is over."""
        turns = self.chat.turns
        if (turn := next((one for one in turns.all if one.run == run.id), None)) is not None:
            whole = replace(turn, text=turn.text + answer_text(run, turn.choice))
            self._set(replace(self.chat, turns=turns.changed(whole)))

    def _settle_answers(self) -> None:
        """Complete the answers whose runs a crash cut off: the runs were recovered, the turns were not."""
        turns = self.chat.turns
        for turn in turns.all:
            run = self.run_of(turn)
            if run is None or run.is_running:
                continue
            answer = answer_text(run, turn.choice)
            if not turn.text.endswith(answer):
                turns = turns.changed(replace(turn, text=turn.text + answer))
        if turns is not self.chat.turns:
            self._set(replace(self.chat, turns=turns))

    # --- changes -----------------------------------------------------------------------------------------

    def rewrite(self, turn: Turn, text: str) -> None:
        """Put another text in a turn's place, as a branch that nobody answers yet."""
        self._change("the edited turn", self._with(Turn(turn.role, text, parent=turn.parent)))

    def delete(self, turn: Turn) -> None:
        """Take a turn and all after it out of the conversation; runs stay in the session."""
        self._change("the deleted turn", self.chat.turns.without([turn.id]))

    def show_branch(self, turn: Turn, step: int) -> bool:
        """Show another branch at a turn; False where there is none."""
        turns = self.chat.turns.beside(turn, step)
        if turns is self.chat.turns:
            return False
        self._set(replace(self.chat, turns=turns))
        return True

    def recall_message(self) -> str:
        """Remove the last message and its answer from the conversation; returns the message."""
        message = next((turn for turn in reversed(self.path) if turn.role == Role.USER), None)
        if message is None:
            return ""
        self._change("the recalled message", self.chat.turns.without([message.id]))
        return message.text

    def configure(self, label: str, chat: Chat) -> None:
        """Go on with another system prompt, template or rule for a full context; turns are not touched."""
        self.workspace.history.record(label, self.make(UseChat(chat)))

    def _with(self, *turns: Turn) -> Turns:
        now = self.chat.turns
        for turn in turns:
            now = now.with_turn(turn)
        return now

    def _change(self, label: str, turns: Turns) -> None:
        before = self.chat.turns
        self._set(replace(self.chat, turns=turns))
        self.workspace.history.record(label, _back_to(before, turns))

    def make(self, step: UseChat | ExchangeTurns) -> UseChat | ExchangeTurns:
        """Make a step of a change; the step that undoes it."""
        now = self.chat
        if isinstance(step, UseChat):
            self._set(replace(step.chat, turns=now.turns))
            return UseChat(now)
        turns = now.turns.without(step.out).with_all(step.back, step.last)
        self._set(replace(now, turns=turns))
        return _back_to(now.turns, turns)

    def _set(self, chat: Chat) -> None:
        self.workspace.keeper.keep_chat(chat)
        self.turns_changed()

    def set_prefill(self, text: str) -> None:
        """Let the next answer begin with a text."""
        self.prefill = text
        self.on_change()

    def turns_changed(self) -> None:
        """Take note that the conversation is another."""
        self._path = None
        self.on_change()


def _back_to(before: Turns, after: Turns) -> ExchangeTurns:
    """What undoes a change of turns."""
    had, has = {turn.id for turn in before.all}, {turn.id for turn in after.all}
    back = tuple(turn for turn in before.all if turn.id not in has)
    return ExchangeTurns(frozenset(has - had), back, before.last)
