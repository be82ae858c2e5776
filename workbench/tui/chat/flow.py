"""Open the session's conversation."""

from __future__ import annotations

from workbench.domain.prompt import PromptKind
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.flows import FlowContext


async def chat(flow: FlowContext) -> None:
    """Chat with the current settings, and continue with the exact prompt in the editor if one is returned."""
    flow.refuse_while_streaming()
    drafting = flow.workspace.drafting
    screen = ChatScreen(flow.workspace.conversation(), flow.mode)
    async with flow.running(screen.answering):
        raw = await flow.ask(screen)
    if raw is not None:
        draft = drafting.draft._replace(kind=PromptKind.TEXT, prompt=raw)
        drafting.use(draft, "the conversation's exact prompt")
        flow.app.main.go_to("prompt")
