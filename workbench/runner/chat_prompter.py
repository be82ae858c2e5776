"""The requests of a conversation: its template found once, its endpoint asked once for its context."""

from __future__ import annotations

from dataclasses import replace

from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.sources import template_from_props
from workbench.chat.templates import PLAIN, BuiltinTemplate, plain_template
from workbench.domain.conversation import Conversation, Prefixes, WhenFull
from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters
from workbench.domain.turns import Chat
from workbench.runner.chat_request import ChatRequest, ContextWindow, chat_request, named_template
from workbench.runner.connections import Connections


class Prompter:
    """Makes requests of conversations, each through its chat's template and within its context."""

    def __init__(self, connections: Connections, *, is_shown: bool = False) -> None:
        """`is_shown` asks an endpoint for its context also where only what a person sees depends on it."""
        self._is_shown = is_shown
        self._connections = connections
        self._renderer = ChatRenderer()
        self._template: tuple[tuple[str, Prefixes, str], BuiltinTemplate | JinjaTemplate] | None = None
        self._contexts: dict[tuple[str, str], int | None] = {}
        self._bos: dict[tuple[str, str], bool] = {}

    async def aclose(self) -> None:
        """End the process that renders."""
        await self._renderer.aclose()

    async def request(
        self,
        chat: Chat,
        conversation: Conversation,
        endpoint: Endpoint,
        model: str,
        parameters: Parameters,
        *,
        sending: bool = True,
    ) -> ChatRequest:
        """The request that a conversation makes.

        `sending` starts the embedded model where it is asked; without it the prompt of one that does not run
        is neither counted nor cut. Raises EngineError, EndpointError, StorageError, TemplateError, or
        BadValueError where the prompt does not fit the context.
        """
        can_be_asked = sending or not chat.template or self._connections.is_ready(endpoint)
        template = await self._found(chat, endpoint)
        window = await self.window(chat, endpoint, model) if can_be_asked else ContextWindow()
        made = await chat_request(self._renderer, conversation, template, model, parameters, window=window)
        bos = made.rendered.bos
        if bos and can_be_asked and await self._adds_bos(endpoint, bos):
            rendered = made.rendered.without_bos()
            request = replace(made.request, prompt=TextPrompt(rendered.prompt))
            return replace(made, request=request, rendered=rendered, bos_left_out=bos)
        return made

    async def window(self, chat: Chat, endpoint: Endpoint, model: str) -> ContextWindow:
        """The context of an endpoint, which is asked for it where nothing else says it."""
        size, name = chat.context or endpoint.context, endpoint.name
        is_needed = endpoint.tokenizer or chat.when_full is not WhenFull.REFUSE or self._is_shown
        if size is None and is_needed:
            if (name, model) not in self._contexts:
                self._contexts[name, model] = await self._connections.context_size(endpoint, model)
            size = self._contexts[name, model]

        async def count(prompt: str) -> int:
            return await self._connections.count_tokens(endpoint, prompt)

        return ContextWindow(size, chat.when_full, count if endpoint.tokenizer else None)

    async def _found(self, chat: Chat, endpoint: Endpoint) -> BuiltinTemplate | JinjaTemplate:
        key = (chat.template, chat.prefixes, "" if chat.template else endpoint.name)
        if self._template is None or self._template[0] != key:
            self._template = key, await self._find(chat, endpoint)
        return self._template[1]

    async def _find(self, chat: Chat, endpoint: Endpoint) -> BuiltinTemplate | JinjaTemplate:
        if not chat.template:
            return template_from_props(await self._connections.props(endpoint))
        return plain_template(chat.prefixes) if chat.template == PLAIN else named_template(chat.template)

    async def _adds_bos(self, endpoint: Endpoint, bos: str) -> bool:
        """Whether an endpoint with a tokenizer puts the begin-of-text token before every prompt itself."""
        key = (endpoint.name, bos)
        if endpoint.tokenizer and key not in self._bos:
            plain = await self._connections.tokenize(endpoint, "x")
            whole = await self._connections.tokenize(endpoint, "x", as_prompt=True)
            self._bos[key] = len(whole) > len(plain) and whole[0][1] == bos.encode()
        return self._bos.get(key, False)
