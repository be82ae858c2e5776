"""What a person sets for a conversation: template, system prompt, an answer's beginning, variables."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from workbench.chat.template_sources import load_templates
from workbench.chat.templates import BUILTIN_TEMPLATES, PLAIN
from workbench.domain.conversation import Prefixes, WhenFull
from workbench.domain.display import escaped, unescaped
from workbench.domain.errors import BadValueError
from workbench.domain.parameter_values import whole_number
from workbench.domain.variables import find_variables
from workbench.runner.chat_request import named_template
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.question import Form, FormLine, LinePopup, TextPopup, typed_path
from workbench.tui.prompt.flow import edit_variables

_OWN = "\0own"
"""Stands for the endpoint's own template among names, none of which can hold this character."""
_SIZE = "size"
_RULES = {
    WhenFull.REFUSE: "stop with an error",
    WhenFull.DROP_OLDEST: "drop the oldest turns, as few as possible",
    WhenFull.KEEP_FIRST: "keep the first exchange, drop those after it",
    WhenFull.LAST_ONLY: "keep only the last message",
}


async def template(flow: FlowContext) -> None:
    """Choose the template for the next turns."""
    chat = flow.workspace.session.chat
    items = [Item(_OWN, "the endpoint's own", "as llama.cpp and the local server report it")]
    items += [Item(name, name, builtin.title) for name, builtin in BUILTIN_TEMPLATES.items()]
    if chat.template and chat.template not in BUILTIN_TEMPLATES:
        items.append(Item(chat.template, chat.template, "a file"))
    note = "or type a path: a template, a tokenizer_config.json or their folder"
    chosen = chat.template or _OWN
    name = await flow.ask(Picker("Template", items, chosen=chosen, free_text=True, note=note))
    prefixes: Prefixes | None = chat.prefixes
    if name == PLAIN:
        prefixes = await flow.ask(_prefixes_form(chat.prefixes))
    if name is not None and name not in (_OWN, *BUILTIN_TEMPLATES):
        name = await _template_in_file(flow, name)
    if name is not None and prefixes is not None:
        _configure(flow, "the template", template="" if name == _OWN else name, prefixes=prefixes)


def _configure(flow: FlowContext, label: str, **changes: Any) -> None:
    """Change fields of the conversation by name, but for its turns."""
    conversation = flow.workspace.talk
    conversation.configure(label, conversation.chat._replace(**changes))


async def _template_in_file(flow: FlowContext, name: str) -> str | None:
    """The name of a template in a file, after asking which of several is meant.

    Raises TemplateError where there is no such template.
    """
    path = typed_path(name)
    if await asyncio.to_thread(path.exists):
        name = str(path.resolve())
        if len(found := load_templates(path)) > 1:
            items = [Item(template_name, template_name) for template_name in found]
            chosen = await flow.ask(Picker("Templates in the file", items))
            if chosen is None:
                return None
            name = f"{name}:{chosen}"
    named_template(name)
    return name


async def system(flow: FlowContext) -> None:
    """Write the system prompt."""
    before = flow.workspace.session.chat.system or ""
    text = await flow.ask(TextPopup("System prompt · empty leaves it to the template", before))
    if text is not None:
        _configure(flow, "the system prompt", system=text or None)


async def prefill(flow: FlowContext) -> None:
    """Write how the next answer begins; the model continues from there."""
    conversation = flow.workspace.talk
    text = await flow.ask(TextPopup("The next answer begins", conversation.prefill))
    if text is not None:
        conversation.set_prefill(text)


async def when_full(flow: FlowContext) -> None:
    """Choose what is left out when the context is full, or say how much it is."""
    chat = flow.workspace.session.chat
    items = [Item(rule.value, rule.value, detail) for rule, detail in _RULES.items()]
    size = f"{chat.context:,} tokens" if chat.context else "as the endpoint reports"
    items.append(Item(_SIZE, "size…", size))
    name = await flow.ask(Picker("When the context is full", items, chosen=chat.when_full.value))
    if name == _SIZE:
        title = "Context in tokens · empty asks the endpoint"
        text = await flow.ask(LinePopup(title, str(chat.context or ""), may_be_empty=True))
        if text is not None:
            _configure(flow, "the context's size", context=_size(text))
    elif name is not None:
        _configure(flow, "the rule for a full context", when_full=WhenFull(name))


def _size(text: str) -> int | None:
    """Raises BadValueError where it is not a number of tokens."""
    if not text:
        return None
    if not (size := whole_number(text.replace(",", "").replace("_", ""))):
        raise BadValueError("The context is a number of tokens", hint="Such as 4096.")
    return size


async def variables(flow: FlowContext) -> None:
    """Give the variables of the conversation their values."""
    conversation = flow.workspace.talk
    written = [conversation.chat.system or "", *(turn.text for turn in conversation.path if not turn.run)]
    texts = (*written, conversation.prefill, flow.workspace.keeper.composed)
    names = [name for text in texts for name in find_variables(text)]
    await edit_variables(flow, names)


def _prefixes_form(prefixes: Prefixes) -> Form[Prefixes]:
    entries = [
        FormLine("before your message", escaped(prefixes.user)),
        FormLine("before an answer", escaped(prefixes.assistant)),
        FormLine("before the system prompt", escaped(prefixes.system)),
        FormLine("between turns", escaped(prefixes.separator)),
    ]
    return Form("Plain text · \\n is a line's end", entries, _read_prefixes, exact=True)


def _read_prefixes(lines: Sequence[str]) -> Prefixes:
    return Prefixes(*map(unescaped, lines))
