"""Settings of a conversation: template, system prompt, prefill, truncation and variables."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from workbench.chat.builtin_templates import BUILTIN_TEMPLATES, PLAIN
from workbench.chat.template_sources import load_templates
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
"""The list's value for the endpoint's own template; no template name contains this character."""
_SIZE = "size"
"""The list's value for setting the context size."""
_RULES = {
    WhenFull.REFUSE: "stop with an error",
    WhenFull.DROP_OLDEST: "drop the oldest turns, as few as possible",
    WhenFull.KEEP_FIRST: "keep the first exchange, drop those after it",
    WhenFull.LAST_ONLY: "keep only the last message",
}


async def template(flow: FlowContext) -> None:
    """Choose the prompt template. Raises TemplateError or StorageError for a file that is not one."""
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
        entries = [
            FormLine("before your message", escaped(chat.prefixes.user)),
            FormLine("before an answer", escaped(chat.prefixes.assistant)),
            FormLine("before the system prompt", escaped(chat.prefixes.system)),
            FormLine("between turns", escaped(chat.prefixes.separator)),
        ]
        prefixes = await flow.ask(
            Form("Plain text · \\n is a line's end", entries, _read_prefixes, exact=True)
        )
    if name is not None and name not in (_OWN, *BUILTIN_TEMPLATES):
        name = await _template_in_file(flow, name)
    if name is not None and prefixes is not None:
        _configure(flow, "the template", template="" if name == _OWN else name, prefixes=prefixes)


def _read_prefixes(lines: Sequence[str]) -> Prefixes:
    return Prefixes(*map(unescaped, lines))


def _configure(flow: FlowContext, label: str, **changes: Any) -> None:
    """Change fields of the conversation, except its turns; `label` names the change in the undo history."""
    conversation = flow.workspace.talk
    conversation.configure(label, conversation.chat._replace(**changes))


async def _template_in_file(flow: FlowContext, name: str) -> str | None:
    """Return the full name of a template in a file, or None; asks which one if the file has several.

    Raises TemplateError if there is no such template, StorageError if the file cannot be read.
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
    """Edit the system prompt."""
    before = flow.workspace.session.chat.system or ""
    text = await flow.ask(TextPopup("System prompt · empty leaves it to the template", before))
    if text is not None:
        _configure(flow, "the system prompt", system=text or None)


async def prefill(flow: FlowContext) -> None:
    """Edit the text that the next answer begins with."""
    conversation = flow.workspace.talk
    text = await flow.ask(TextPopup("The next answer begins", conversation.prefill))
    if text is not None:
        conversation.set_prefill(text)


async def when_full(flow: FlowContext) -> None:
    """Choose what is left out if the prompt exceeds the context, or set the context size."""
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
    """Parse a context size in tokens; None if empty. Raises BadValueError."""
    if not text:
        return None
    if not (size := whole_number(text.replace(",", "").replace("_", ""))):
        raise BadValueError("The context is a number of tokens", hint="Such as 4096.")
    return size


async def variables(flow: FlowContext) -> None:
    """Edit the values of the conversation's variables."""
    conversation = flow.workspace.talk
    written = [conversation.chat.system or "", *(turn.text for turn in conversation.path if not turn.run)]
    texts = (*written, conversation.prefill, flow.workspace.keeper.composed)
    names = [name for text in texts for name in find_variables(text)]
    await edit_variables(flow, names)
