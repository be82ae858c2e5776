"""A conversation on the screen: its turns, its template, and the prompt that it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.rendered import Rendered
from workbench.chat.templates import BuiltinTemplate
from workbench.domain.conversation import Conversation, Role
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.session import Session, Turn
from workbench.runner.chatting import ChatRequest, answer_text, chat_request, find_template
from workbench.tui.services import Services


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said, and the run that answered."""

    said: str
    run: Run
    stop: tuple[str, ...]
    """Stop sequences of its template."""

    @property
    def answer(self) -> str:
        """The answer so far."""
        return answer_text(self.run, self.stop)


class ChatSession:
    """The turns of one conversation, each answered by a run of its own."""

    def __init__(self, services: Services, endpoint: Endpoint, draft: Request) -> None:
        """`draft` gives model and parameters; its prompt is not used."""
        self.services = services
        self.endpoint = endpoint
        self.draft = draft
        self.template = ""
        """Name or file of the template; empty is the endpoint's own."""
        self.system: str | None = None
        self.exchanges: list[Exchange] = []
        self._renderer = ChatRenderer()
        self._found: tuple[str, BuiltinTemplate | JinjaTemplate] | None = None

    def resume(self, session: Session) -> None:
        """Go on with the conversation that a session holds, as far as its runs are there."""
        runs = {run.id: run for run in session.runs}
        self.template = session.template
        self.system = next((turn.text for turn in session.turns if turn.role == Role.SYSTEM), None)
        said = ""
        for turn in session.turns:
            if turn.role == Role.USER:
                said = turn.text
            elif turn.role == Role.ASSISTANT and (run := runs.get(turn.run)) is not None:
                text = run.choices[0].text if 0 in run.choices else ""
                rest = text[len(turn.text) :] if text.startswith(turn.text) else ""
                self.exchanges.append(Exchange(said, run, (rest,)))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation as a session keeps it; each answer names its run."""
        turns = [] if self.system is None else [Turn(Role.SYSTEM, self.system, "system")]
        for exchange in self.exchanges:
            turns.append(Turn(Role.USER, exchange.said, f"said-{exchange.run.id}"))
            turns.append(Turn(Role.ASSISTANT, exchange.answer, exchange.run.id, exchange.run.id))
        return tuple(turns)

    def conversation(self, said: str) -> Conversation:
        """Everything so far, with one more thing said."""
        conversation = Conversation(system=self.system)
        for exchange in self.exchanges:
            conversation = conversation.said(exchange.said).answered(exchange.answer)
        return conversation.said(said)

    async def render(self, said: str) -> Rendered:
        """The exact prompt that saying something would send.

        Raises EngineError, EndpointError, StorageError or TemplateError.
        """
        return (await self._request(said)).rendered

    async def begin(self, said: str, on_begin: Callable[[Run], None]) -> Exchange:
        """The exchange that saying something begins; `on_begin` is told its run, which is to be sent.

        Raises what `render` raises; nothing is said then.
        """
        chat = await self._request(said)
        run = Run(chat.request, self.endpoint.name)
        exchange = Exchange(said, run, chat.rendered.stop)
        self.exchanges.append(exchange)
        on_begin(run)
        return exchange

    def take_back(self) -> str:
        """Take the last exchange out of the conversation and answer with what was said; its run stays."""
        return self.exchanges.pop().said if self.exchanges else ""

    def use_template(self, source: str) -> None:
        """Go on with another template from the next turn on."""
        self.template = source

    async def aclose(self) -> None:
        """End the process that renders."""
        await self._renderer.aclose()

    async def _request(self, said: str) -> ChatRequest:
        if self._found is None or self._found[0] != self.template:
            endpoint = self.endpoint
            if not self.template and endpoint.name == LOCAL:
                endpoint = await self.services.local.ensure(endpoint)
            found = await find_template(self.template, self.services.client, endpoint)
            self._found = (self.template, found)
        return await chat_request(
            self._renderer,
            self.conversation(said),
            self._found[1],
            self.draft.model,
            self.draft.parameters,
        )
