"""Turn conversations into requests: find the template, truncate to the context, render the prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from workbench.chat.builtin_templates import BUILTIN_TEMPLATES, PLAIN, BuiltinTemplate, plain_template
from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.rendered_prompt import Rendered
from workbench.chat.template_sources import CHOOSE_TEMPLATE, DEFAULT, load_templates, template_from_props
from workbench.chat.truncation import Fitted, fit
from workbench.domain.conversation import Chat, Conversation, Prefixes, WhenFull
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError, TemplateError
from workbench.domain.parameter_table import FIELDS
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.connections import Connections

_NOT_OFFERED = (404, 405, 501)
"""HTTP statuses of a service that an endpoint lacks."""
_BYTES_A_TOKEN = 3
"""Estimated bytes per token without a tokenizer; low, so as to truncate too much and not too little."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request made from a conversation, with its rendered prompt."""

    request: Request
    rendered: Rendered
    stop: tuple[str, ...] = ()
    """The template's stop sequences in the request; empty if the user set `stop`."""
    left_out: Fitted | None = None
    """The truncation, and the prompt's token count; None if tokens were not counted."""
    context: int | None = None
    """Context size in tokens, for prompt and answer; None if unknown."""
    bos_left_out: str = ""
    """The begin-of-text token that was not sent, because the endpoint adds it; empty otherwise."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the prompt for the person, one line each."""
        bos = self.bos_left_out
        left_out = self.left_out.describe() if self.left_out is not None else ""
        bos_note = f"{bos} is not sent: the endpoint puts it there itself" if bos else ""
        return tuple(line for line in (left_out, bos_note) if line)


def named_template(source: str) -> BuiltinTemplate | JinjaTemplate:
    """Return a built-in template by name, or one from a file: `FILE`, or `FILE:NAME` if it has several.

    Raises TemplateError if there is no such template, StorageError if its file cannot be read.
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
    """Return the text of a run's answer, without the stop sequence that some endpoints leave at its end."""
    stop = run.request.parameters.get("stop")
    text = run.choices[choice].text if choice in run.choices else ""
    for sequence in (stop,) if isinstance(stop, str) else stop if isinstance(stop, tuple) else ():
        if sequence and text.endswith(sequence):
            return text[: -len(sequence)]
    return text


class Prompter:
    """Turns conversations into requests, using the chat's template and truncation rule."""

    def __init__(self, connections: Connections, *, is_shown: bool = False) -> None:
        """`is_shown` fetches the endpoint's context size even where only the display needs it."""
        self._is_shown = is_shown
        self._connections = connections
        self._renderer = ChatRenderer()
        self._template: tuple[tuple[str, Prefixes, str], BuiltinTemplate | JinjaTemplate] | None = None
        self._contexts: dict[tuple[str, str], int | None] = {}
        self._bos: dict[tuple[str, str], bool] = {}

    async def aclose(self) -> None:
        """Stop the process that renders templates."""
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
        """Return the request for a conversation.

        Unless `stop` is set, the template's stop sequences are sent, as many as the API allows. `sending`
        starts the embedded model if needed; without it, the prompt of a model that is not running is neither
        counted nor truncated. Raises EngineError, EndpointError, StorageError, TemplateError, or
        BadValueError if the prompt does not fit the context.
        """
        is_reachable = sending or not chat.template or self._connections.is_ready(endpoint)
        template = await self._found(chat, endpoint)
        size = await self._context_size(chat, endpoint, model) if is_reachable else None
        fitted = None
        if size is not None:
            room = size - parameters.max_tokens
            fitted = await self._fitted(conversation, template, endpoint, room, chat.when_full)
        rendered = await self._renderer.render(template, fitted.conversation if fitted else conversation)
        stop = rendered.stop[: FIELDS["stop"].most] if parameters.get("stop") is None else ()
        if stop:
            parameters = parameters.set("stop", stop)
        left_out = ""
        if rendered.bos and is_reachable and await self._adds_bos(endpoint, rendered.bos):
            left_out, rendered = rendered.bos, rendered.without_bos()
        request = Request(TextPrompt(rendered.prompt), model, parameters)
        return ChatRequest(request, rendered, stop, fitted, size, left_out)

    async def _fitted(
        self,
        conversation: Conversation,
        template: BuiltinTemplate | JinjaTemplate,
        endpoint: Endpoint,
        room: int,
        when_full: WhenFull,
    ) -> Fitted | None:
        """Truncate the conversation to `room` tokens; None if the tokenizer cannot count them."""

        async def counted(shorter: Conversation) -> int:
            prompt = (await self._renderer.render(template, shorter)).prompt
            if endpoint.tokenizer:
                return len(await self._connections.tokenize(endpoint, prompt))
            return len(prompt.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN + 1

        try:
            fitted = await fit(conversation, room, counted, when_full)
        except EndpointError:
            return None
        except BadValueError:
            if endpoint.tokenizer:
                raise
            # An estimated count must not refuse the prompt: the endpoint reports if it is too long.
            fitted = Fitted(conversation, await counted(conversation))
        return replace(fitted, is_exact=endpoint.tokenizer)

    async def _context_size(self, chat: Chat, endpoint: Endpoint, model: str) -> int | None:
        """Return the tokens of prompt and answer together, asking the endpoint if no setting has them.

        None if they are unknown, so that nothing is truncated.
        """
        size, name = chat.context or endpoint.context, endpoint.name
        is_needed = endpoint.tokenizer or chat.when_full is not WhenFull.REFUSE or self._is_shown
        if size is None and is_needed:
            if (name, model) not in self._contexts:
                self._contexts[name, model] = await self._connections.context_size(endpoint, model)
            size = self._contexts[name, model]
        return size

    async def _found(self, chat: Chat, endpoint: Endpoint) -> BuiltinTemplate | JinjaTemplate:
        key = (chat.template, chat.prefixes, "" if chat.template else endpoint.name)
        if self._template is None or self._template[0] != key:
            self._template = key, await self._find(chat, endpoint)
        return self._template[1]

    async def _find(self, chat: Chat, endpoint: Endpoint) -> BuiltinTemplate | JinjaTemplate:
        if not chat.template:
            try:
                return template_from_props(await self._connections.props(endpoint))
            except EndpointError as error:
                if error.status not in _NOT_OFFERED:
                    raise
                why = f"It does not offer /props (HTTP {error.status})."
                raise TemplateError("The endpoint reports no chat template", why, CHOOSE_TEMPLATE) from None
        return plain_template(chat.prefixes) if chat.template == PLAIN else named_template(chat.template)

    async def _adds_bos(self, endpoint: Endpoint, bos: str) -> bool:
        """Whether the endpoint adds the begin-of-text token to every prompt; False without a tokenizer."""
        key = (endpoint.name, bos)
        if endpoint.tokenizer and key not in self._bos:
            plain = await self._connections.tokenize(endpoint, "x")
            whole = await self._connections.tokenize(endpoint, "x", as_prompt=True)
            self._bos[key] = len(whole) > len(plain) and whole[0][1] == bos.encode()
        return self._bos.get(key, False)
