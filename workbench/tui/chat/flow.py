"""The conversation of the session."""

from __future__ import annotations

from dataclasses import replace

from workbench.domain.prompt import PromptKind
from workbench.tui.compare.flow import refuse_while_streaming
from workbench.tui.flows import FlowContext
from workbench.tui.screens.chat import ChatScreen
from workbench.tui.screens.chat_turns import ChatHost


async def chat(flow: FlowContext) -> None:
    """Talk in turns, with the panel's parameters; every answer is a run of the session.

    The conversation's exact prompt can be continued with as text.
    """
    refuse_while_streaming(flow)
    main = flow.main
    host = ChatHost(main.keep_compared, main.action_undo, main.action_redo)
    screen = ChatScreen(main.conversation(), flow.styles, host, main.output.view.mode)
    main.talking = screen
    try:
        raw = await flow.ask(screen)
    finally:
        main.talking = None
    if raw is not None:
        draft = replace(main.draft, kind=PromptKind.TEXT, prompt=raw)
        main.take_draft(draft, "the conversation's exact prompt")
        main.set_focus(main.prompt)
