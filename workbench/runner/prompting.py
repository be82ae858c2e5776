"""The requests that a conversation makes: its template found once, its endpoint asked once what it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.templates import BuiltinTemplate
from workbench.client.client import Client
from workbench.domain.conversation import Conversation, Prefixes, WhenFull
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters
from workbench.domain.turns import Chat
from workbench.runner.chatting import ChatRequest, ContextWindow, adds_bos, chat_request, find_template
from workbench.runner.local_server import LocalServer


class Prompter:
    """Makes requests of conversations, each through its chat's template and within its context."""

    def __init__(self, client: Callable[[], Client], local: LocalServer, *, is_shown: bool = False) -> None:
        """`client` is asked for when something is first sent, as its imports are slow.

        `is_shown` asks an endpoint for its context also where nothing depends on it but what a person sees.
        """
        self._is_shown = is_shown
        self._client = client
        self._local = local
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
        ready = endpoint
        can_be_asked = endpoint.name != LOCAL or sending or not chat.template or self._local.is_running
        if endpoint.name == LOCAL and can_be_asked:
            ready = await self._local.ensure(endpoint)
        template = await self._found(chat, ready, endpoint.name)
        window = await self.window(chat, ready, endpoint.name, model) if can_be_asked else ContextWindow()
        made = await chat_request(self._renderer, conversation, template, model, parameters, window=window)
        bos = made.rendered.bos
        if bos and can_be_asked and await self._adds_bos(ready, endpoint.name, bos):
            rendered = made.rendered.without_bos()
            request = replace(made.request, prompt=TextPrompt(rendered.prompt))
            return replace(made, request=request, rendered=rendered, bos_left_out=bos)
        return made

    async def window(self, chat: Chat, ready: Endpoint, name: str, model: str) -> ContextWindow:
        """The context of an endpoint that answers; `name` is the endpoint's own."""
        size = chat.context or ready.context
        is_needed = ready.tokenizer or chat.when_full is not WhenFull.REFUSE or self._is_shown
        if size is None and is_needed:
            if (name, model) not in self._contexts:
                self._contexts[name, model] = await self._client().context_size(ready, model)
            size = self._contexts[name, model]

        async def count(prompt: str) -> int:
            return await self._client().count_tokens(ready, prompt)

        return ContextWindow(size, chat.when_full, count if ready.tokenizer else None)

    async def _found(self, chat: Chat, ready: Endpoint, name: str) -> BuiltinTemplate | JinjaTemplate:
        key = (chat.template, chat.prefixes, "" if chat.template else name)
        if self._template is None or self._template[0] != key:
            self._template = key, await find_template(chat.template, self._client(), ready, chat.prefixes)
        return self._template[1]

    async def _adds_bos(self, ready: Endpoint, name: str, bos: str) -> bool:
        if (name, bos) not in self._bos:
            self._bos[name, bos] = await adds_bos(self._client(), ready, bos)
        return self._bos[name, bos]
