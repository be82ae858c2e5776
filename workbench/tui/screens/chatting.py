"""From the main screen to the conversation of its session, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.domain.errors import BadValueError
from workbench.domain.prompt import PromptKind, TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.tui.screens.reviewing import ReviewScreen
from workbench.tui.widgets.output_pane import OutputPane

if TYPE_CHECKING:
    from workbench.tui.chat_session import ChatSession
    from workbench.tui.screens.chat import ChatScreen


class ChattingScreen(ReviewScreen):
    """Opens the chat screen, whose runs are the session's like all others."""

    _chat: tuple[Session, ChatSession] | None = None
    """The session's conversation, which changes that can be undone refer to."""
    _talking: ChatScreen | None = None

    @property
    def is_chatting(self) -> bool:
        """Whether an answer streams into the conversation."""
        return self._talking is not None and self._talking.is_streaming

    def stop_chatting(self) -> None:
        """Stop the answer that streams into the conversation; what came is kept."""
        if self._talking is not None:
            self._talking.stop()

    async def aclose(self) -> None:
        """Stop an answer, wait until it has ended, and write everything."""
        if self._talking is not None:
            await self._talking.settle()
        await super().aclose()

    def action_chat(self) -> None:
        """Talk in turns, with the panel's parameters; every answer is a run of the session."""

        def begin() -> None:
            if self.is_streaming:
                raise BadValueError("Something streams already", hint="Stop it with Esc, then chat.")
            # Most sessions are no conversation, so the first paint need not wait for it.
            from workbench.tui.screens.chat import ChatScreen
            from workbench.tui.screens.chat_turns import ChatHost

            host = ChatHost(
                began=self.keeper.began,
                ended=self._compared,
                compose=self._keep_composed,
                composed=lambda: self.keeper.composed,
                raw=self._go_raw,
                rerun=lambda run: self._rerun(OutputPane.RerunAsked(run)),
                compare=self._compare_answers,
                undo=self.action_undo,
                redo=self.action_redo,
            )
            self._talking = ChatScreen(self._conversation(), self._token_styles, host, self.output.view.mode)
            self.app.push_screen(self._talking, self._left_chat)

        self.attempt(begin)

    def _conversation(self) -> ChatSession:
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

    def _compare_answers(self, request: Request, take: Callable[[Run], None]) -> None:
        from workbench.tui.screens.comparing import compare

        def ended(run: Run) -> None:
            self._compared(run)
            take(run)

        compare(self.app, replace(self.to_compare(request), on_end=ended))

    def _left_chat(self, _: None) -> None:
        self._talking = None

    def _keep_composed(self, text: str) -> None:
        self.keeper.composed = text

    def _go_raw(self, prompt: str) -> None:
        with self.changing("the conversation's exact prompt"):
            self.prompt.set_kind(PromptKind.TEXT)
            self.prompt.set_prompt(TextPrompt(prompt))
        self.set_focus(self.prompt)
