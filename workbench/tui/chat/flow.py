"""The conversation of the session."""

from __future__ import annotations

from workbench.domain.prompt import PromptKind
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.flows import FlowContext


async def chat(flow: FlowContext) -> None:
    """Talk in turns, with the panel's parameters; every answer is a run of the session.

    The conversation's exact prompt can be continued with as text.
    """
    flow.refuse_while_streaming()
    drafting = flow.workspace.drafting
    screen = ChatScreen(flow.workspace.conversation(), flow.mode)
    async with flow.running(screen.answering):
        raw = await flow.ask(screen)
    if raw is not None:
        draft = drafting.draft._replace(kind=PromptKind.TEXT, prompt=raw)
        drafting.use(draft, "the conversation's exact prompt")
        flow.app.main.go_to("prompt")
