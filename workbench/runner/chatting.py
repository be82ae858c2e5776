"""Conversations as requests: the template is found, the prompt rendered, its stop sequences taken along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.chat.rendered import Rendered
from workbench.chat.sources import load_templates, template_from_props
from workbench.chat.templates import BUILTIN_TEMPLATES, BuiltinTemplate
from workbench.client.client import Client
from workbench.domain.conversation import Conversation
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import TemplateError
from workbench.domain.parameters import FIELDS
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation made into a request, with the rendering in the open."""

    request: Request
    rendered: Rendered


async def find_template(source: str, client: Client, endpoint: Endpoint) -> BuiltinTemplate | JinjaTemplate:
    """The template of a name or a file; an empty `source` asks the endpoint, as llama.cpp's `/props` tells.

    Raises TemplateError, StorageError or EndpointError.
    """
    if not source:
        return template_from_props(await client.props(endpoint))
    return named_template(source)


def named_template(source: str) -> BuiltinTemplate | JinjaTemplate:
    """A template of ours by name, or one in a file: `FILE`, or `FILE:NAME` where it holds several.

    Raises TemplateError where there is no such template.
    """
    if source in BUILTIN_TEMPLATES:
        return BUILTIN_TEMPLATES[source]
    path, _, wanted = (source, "", "") if Path(source).exists() else source.rpartition(":")
    if not path or not Path(path).exists():
        known = ", ".join(BUILTIN_TEMPLATES)
        raise TemplateError(f"there is no template {source!r}", hint=f"Name a file, or one of {known}.")
    templates = load_templates(Path(path))
    if not wanted:
        return next(iter(templates.values()))
    if wanted not in templates:
        raise TemplateError(f"{path} has no template {wanted!r}", hint=f"It has {', '.join(templates)}.")
    return templates[wanted]


async def chat_request(
    renderer: ChatRenderer,
    conversation: Conversation,
    template: BuiltinTemplate | JinjaTemplate,
    model: str,
    parameters: Parameters,
) -> ChatRequest:
    """The request that a conversation makes under a template.

    The template's stop sequences are sent unless `stop` is set; where there are more than the contract
    allows, the first ones are. Raises TemplateError.
    """
    rendered = await renderer.render(template, conversation)
    if parameters.get("stop") is None:
        parameters = parameters.set("stop", rendered.stop[: FIELDS["stop"].most])
    return ChatRequest(Request(TextPrompt(rendered.prompt), model, parameters), rendered)


def answer_text(run: Run, stop: Sequence[str]) -> str:
    """What a run answered, without the stop sequence that some endpoints leave at its end."""
    text = run.choices[0].text if 0 in run.choices else ""
    for one in stop:
        if one and text.endswith(one):
            return text[: -len(one)]
    return text
