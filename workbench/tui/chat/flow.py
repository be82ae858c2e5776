"""The conversation of the session."""

from __future__ import annotations

from dataclasses import replace

from workbench.domain.prompt import PromptKind
from workbench.tui.compare.flow import refuse_while_streaming
from workbench.tui.flows import FlowContext
from workbench.tui.screens.chat import ChatScreen


async def chat(flow: FlowContext) -> None:
    """Talk in turns, with the panel's parameters; every answer is a run of the session.

    The conversation's exact prompt can be continued with as text.
    """
    refuse_while_streaming(flow)
    main, workspace = flow.main, flow.workspace
    conversation = workspace.conversation(main.parameters.parameters)
    screen = ChatScreen(conversation, flow.styles, main.output.view.mode)
    async with flow.running(screen.answering):
        raw = await flow.ask(screen)
    if raw is not None:
        draft = replace(workspace.drafting.draft, kind=PromptKind.TEXT, prompt=raw)
        workspace.drafting.use(draft, "the conversation's exact prompt")
        main.set_focus(main.prompt)
