"""Conversations as requests: the template is found, the prompt rendered and fitted to the context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.rendered import Rendered
from workbench.chat.sources import DEFAULT, load_templates, template_from_props
from workbench.chat.templates import BUILTIN_TEMPLATES, PLAIN, BuiltinTemplate, plain_template
from workbench.chat.truncation import Fitted, fit
from workbench.domain.conversation import Chat, Conversation, Prefixes, WhenFull
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError, TemplateError
from workbench.domain.parameters import FIELDS
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run
from workbench.runner.connections import Connections

_DEFAULT_MAX_TOKENS = 16
"""The default length of an answer in the API."""
_BYTES_A_TOKEN = 3
"""Where no tokenizer can be asked: fewer than in most texts, so that rather too much is left out."""


@dataclass(frozen=True, slots=True)
class _Window:
    """What an answer and its prompt may take together, and what to do where that is not enough."""

    size: int | None = None
    """In tokens; None where it is unknown, so that nothing is left out."""
    when_full: WhenFull = WhenFull.REFUSE
    count: Callable[[str], Awaitable[int]] | None = None
    """The tokens of a prompt, from the endpoint's own tokenizer; None where it has none."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation made into a request, with the rendering in the open."""

    request: Request
    rendered: Rendered
    left_out: Fitted | None = None
    """What had to be left out to fit the context, and the prompt's tokens; None where nothing was counted."""
    context: int | None = None
    """Tokens that prompt and answer may take together; None where unknown."""
    bos_left_out: str = ""
    """The begin-of-text token that the endpoint puts there itself, and that is not sent."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the prompt, one line each."""
        bos = self.bos_left_out
        left_out = self.left_out.describe() if self.left_out is not None else ""
        words = f"{bos} is not sent: the endpoint puts it there itself" if bos else ""
        return tuple(line for line in (left_out, words) if line)


def named_template(source: str) -> BuiltinTemplate | JinjaTemplate:
    """A template of ours by name, or one in a file: `FILE`, or `FILE:NAME` where it holds several.

    Raises TemplateError where there is no such template, StorageError where its file cannot be read.
    """
    if source in BUILTIN_TEMPLATES:
        return BUILTIN_TEMPLATES[source]
    path, _, wanted = (source, "", "") if Path(source).exists() else source.rpartition(":")
    if not path or not Path(path).exists():
        known = ", ".join(BUILTIN_TEMPLATES)
        raise TemplateError(f"there is no template {source!r}", hint=f"Name a file, or one of {known}.")
    templates = load_templates(Path(path))
    if not wanted:
        wanted = DEFAULT if DEFAULT in templates or len(templates) > 1 else next(iter(templates))
    if wanted not in templates:
        raise TemplateError(f"{path} has no template {wanted!r}", hint=f"It has {', '.join(templates)}.")
    return templates[wanted]


def answer_text(run: Run, choice: int = 0) -> str:
    """What a run answered, without the stop sequence that some endpoints leave at its end."""
    stop = run.request.parameters.get("stop")
    text = run.choices[choice].text if choice in run.choices else ""
    for sequence in (stop,) if isinstance(stop, str) else stop if isinstance(stop, tuple) else ():
        if sequence and text.endswith(sequence):
            return text[: -len(sequence)]
    return text


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

        The template's stop sequences are sent unless `stop` is set; where there are more than the contract
        allows, the first ones are. `sending` starts the embedded model where it is asked; without it the
        prompt of one that does not run is neither counted nor cut. Raises EngineError, EndpointError,
        StorageError, TemplateError, or BadValueError where the prompt does not fit the context.
        """
        can_be_asked = sending or not chat.template or self._connections.is_ready(endpoint)
        template = await self._found(chat, endpoint)
        window = await self._window(chat, endpoint, model) if can_be_asked else _Window()
        fitted = await self._fitted(conversation, template, parameters, window)
        rendered = await self._renderer.render(template, fitted.conversation if fitted else conversation)
        if parameters.get("stop") is None:
            parameters = parameters.set("stop", rendered.stop[: FIELDS["stop"].most])
        left_out = ""
        if rendered.bos and can_be_asked and await self._adds_bos(endpoint, rendered.bos):
            left_out, rendered = rendered.bos, rendered.without_bos()
        request = Request(TextPrompt(rendered.prompt), model, parameters)
        return ChatRequest(request, rendered, fitted, window.size, left_out)

    async def _fitted(
        self,
        conversation: Conversation,
        template: BuiltinTemplate | JinjaTemplate,
        parameters: Parameters,
        window: _Window,
    ) -> Fitted | None:
        """The conversation as it fits the context; None where the context is unknown."""
        if window.size is None:
            return None
        room = window.size - int(parameters.number("max_tokens", _DEFAULT_MAX_TOKENS))
        count = window.count

        async def counted(one: Conversation) -> int:
            prompt = (await self._renderer.render(template, one)).prompt
            if count is not None:
                return await count(prompt)
            return len(prompt.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN + 1

        try:
            fitted = await fit(conversation, room, counted, window.when_full)
        except EndpointError:
            return None
        except BadValueError:
            if count is not None:
                raise
            # A guess is not a reason to refuse: the endpoint will say whether it is too long.
            fitted = Fitted(conversation, await counted(conversation))
        return replace(fitted, is_exact=count is not None)

    async def _window(self, chat: Chat, endpoint: Endpoint, model: str) -> _Window:
        """The context of an endpoint, which is asked for it where nothing else says it."""
        size, name = chat.context or endpoint.context, endpoint.name
        is_needed = endpoint.tokenizer or chat.when_full is not WhenFull.REFUSE or self._is_shown
        if size is None and is_needed:
            if (name, model) not in self._contexts:
                self._contexts[name, model] = await self._connections.context_size(endpoint, model)
            size = self._contexts[name, model]
        count = partial(self._connections.count_tokens, endpoint) if endpoint.tokenizer else None
        return _Window(size, chat.when_full, count)

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
