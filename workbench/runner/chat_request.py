"""Conversations as requests: the template is found, the prompt rendered, its stop sequences taken along."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.rendered import Rendered
from workbench.chat.sources import DEFAULT, load_templates
from workbench.chat.templates import BUILTIN_TEMPLATES, BuiltinTemplate
from workbench.chat.truncation import Fitted, fit
from workbench.domain.conversation import Conversation, WhenFull
from workbench.domain.errors import BadValueError, EndpointError, TemplateError
from workbench.domain.parameters import FIELDS
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run

_DEFAULT_MAX_TOKENS = 16
"""The default length of an answer in the API."""


_BYTES_A_TOKEN = 3
"""Where no tokenizer can be asked: fewer than in most texts, so that rather too much is left out."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
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


async def chat_request(
    renderer: ChatRenderer,
    conversation: Conversation,
    template: BuiltinTemplate | JinjaTemplate,
    model: str,
    parameters: Parameters,
    *,
    window: ContextWindow = ContextWindow(),
) -> ChatRequest:
    """The request that a conversation makes under a template.

    The template's stop sequences are sent unless `stop` is set; where there are more than the contract
    allows, the first ones are. Where the prompt outgrows the context, turns are left out as its window
    says. Raises TemplateError, or BadValueError where it cannot be made to fit.
    """
    fitted = await _fitted(renderer, conversation, template, parameters, window)
    if fitted is not None:
        conversation = fitted.conversation
    rendered = await renderer.render(template, conversation)
    if parameters.get("stop") is None:
        parameters = parameters.set("stop", rendered.stop[: FIELDS["stop"].most])
    return ChatRequest(Request(TextPrompt(rendered.prompt), model, parameters), rendered, fitted, window.size)


async def _fitted(
    renderer: ChatRenderer,
    conversation: Conversation,
    template: BuiltinTemplate | JinjaTemplate,
    parameters: Parameters,
    window: ContextWindow,
) -> Fitted | None:
    """The conversation as it fits the context; None where the context is unknown."""
    if window.size is None:
        return None
    room = window.size - int(parameters.number("max_tokens", _DEFAULT_MAX_TOKENS))
    count = window.count

    async def counted(one: Conversation) -> int:
        prompt = (await renderer.render(template, one)).prompt
        return _guess(prompt) if count is None else await count(prompt)

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


def _guess(prompt: str) -> int:
    return len(prompt.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN + 1


def answer_text(run: Run, choice: int = 0) -> str:
    """What a run answered, without the stop sequence that some endpoints leave at its end."""
    stop = run.request.parameters.get("stop")
    text = run.choices[choice].text if choice in run.choices else ""
    for sequence in (stop,) if isinstance(stop, str) else stop if isinstance(stop, tuple) else ():
        if sequence and text.endswith(sequence):
            return text[: -len(sequence)]
    return text
