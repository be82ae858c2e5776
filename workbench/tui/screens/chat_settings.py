"""What a person sets for a conversation: template, system prompt, an answer's beginning, variables."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from workbench.chat.sources import load_templates
from workbench.chat.templates import BUILTIN_TEMPLATES, PLAIN
from workbench.domain.conversation import Prefixes, WhenFull
from workbench.domain.display import escaped, unescaped
from workbench.domain.errors import BadValueError
from workbench.domain.variables import find_variables
from workbench.runner.chatting import named_template
from workbench.tui.flows import FlowContext, asks
from workbench.tui.popups.form import Entry, Form
from workbench.tui.popups.naming import Naming, typed_path
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.writing import Writing
from workbench.tui.prompt.flow import edit_variables
from workbench.tui.screens.chat_turns import ChatTurnsScreen

_OWN = "\0own"
"""Stands for the endpoint's own template among names, none of which can hold this character."""
_SIZE = "size"
_RULES = {
    WhenFull.REFUSE: "leave nothing out: say so, and send nothing",
    WhenFull.DROP_OLDEST: "leave the oldest turns out, as few as need be",
    WhenFull.KEEP_FIRST: "keep the first exchange, leave out those after it",
    WhenFull.LAST_ONLY: "leave out all but the last thing said",
}


class ChatSettingsScreen(ChatTurnsScreen):
    """Every setting is kept with the session, and each change of one can be undone."""

    # --- the template ------------------------------------------------------------------------------------

    @asks
    async def action_template(self, flow: FlowContext) -> None:
        """Choose the template for the next turns."""
        chat = self.chat.chat
        items = [Item(_OWN, "the endpoint's own", "as llama.cpp and the local server report it")]
        items += [Item(name, name, one.title) for name, one in BUILTIN_TEMPLATES.items()]
        if chat.template and chat.template not in BUILTIN_TEMPLATES:
            items.append(Item(chat.template, chat.template, "a file"))
        note = "or type a path: a template, a tokenizer_config.json or their folder"
        chosen = chat.template or _OWN
        name = await flow.ask(Picker("Template", items, chosen=chosen, free_text=True, note=note))
        prefixes: Prefixes | None = chat.prefixes
        if name == PLAIN:
            prefixes = await flow.ask(_prefixes_form(chat.prefixes))
        if name is not None and name not in (_OWN, *BUILTIN_TEMPLATES):
            name = await self._template_in_file(flow, name)
        if name is not None and prefixes is not None:
            changed = replace(self.chat.chat, template="" if name == _OWN else name, prefixes=prefixes)
            self.chat.configure("the template", changed)

    async def _template_in_file(self, flow: FlowContext, name: str) -> str | None:
        """The name of a template in a file, after asking which of several is meant.

        Raises TemplateError where there is no such template.
        """
        path = typed_path(name)
        if await asyncio.to_thread(path.exists):
            name = str(path.resolve())
            if len(found := load_templates(path)) > 1:
                items = [Item(one, one) for one in found]
                chosen = await flow.ask(Picker("Templates in the file", items))
                if chosen is None:
                    return None
                name = f"{name}:{chosen}"
        named_template(name)
        return name

    # --- what is said beside the turns -------------------------------------------------------------------

    @asks
    async def action_system(self, flow: FlowContext) -> None:
        """Write the system prompt."""
        system = self.chat.chat.system or ""
        text = await flow.ask(Writing("System prompt · empty leaves it to the template", system))
        if text is not None:
            self.chat.configure("the system prompt", replace(self.chat.chat, system=text or None))

    @asks
    async def action_prefill(self, flow: FlowContext) -> None:
        """Write how the next answer begins; the model continues from there."""
        text = await flow.ask(Writing("The next answer begins", self.chat.prefill))
        if text is not None:
            self.chat.prefill = text
            self.title_composer(self.editing)
            self.prompt_changed()

    @asks
    async def action_when_full(self, flow: FlowContext) -> None:
        """Choose what is left out when the context is full, or say how much it is."""
        chat = self.chat.chat
        items = [Item(rule.value, rule.value, words) for rule, words in _RULES.items()]
        size = f"{chat.context:,} tokens" if chat.context else "as the endpoint reports"
        items.append(Item(_SIZE, "size…", size))
        name = await flow.ask(Picker("When the context is full", items, chosen=chat.when_full.value))
        if name == _SIZE:
            title = "Context in tokens · empty asks the endpoint"
            text = await flow.ask(Naming(title, str(chat.context or ""), may_be_empty=True))
            if text is not None:
                self._use_size(text)
        elif name is not None:
            changed = replace(self.chat.chat, when_full=WhenFull(name))
            self.chat.configure("the rule for a full context", changed)

    def _use_size(self, text: str) -> None:
        """Raises BadValueError where it is no number of tokens."""
        digits = text.replace(",", "").replace("_", "")
        if digits and not (digits.isascii() and digits.isdigit() and int(digits)):
            raise BadValueError("The context is a number of tokens", hint="Such as 4096.")
        self.chat.configure(
            "the context's size", replace(self.chat.chat, context=int(digits) if digits else None)
        )

    @asks
    async def action_variables(self, flow: FlowContext) -> None:
        """Give the variables of the conversation their values."""
        written = [self.chat.chat.system or "", *(turn.text for turn in self.chat.path if not turn.run)]
        texts = (*written, self.chat.prefill, self.composer.text)
        names = [name for text in texts for name in find_variables(text)]
        await edit_variables(flow, names)


def _prefixes_form(prefixes: Prefixes) -> Form[Prefixes]:
    entries = [
        Entry("before what you say", escaped(prefixes.user)),
        Entry("before an answer", escaped(prefixes.assistant)),
        Entry("before the system prompt", escaped(prefixes.system)),
        Entry("between turns", escaped(prefixes.separator)),
    ]
    return Form("Plain text · \\n is a line's end", entries, _read_prefixes, exact=True)


def _read_prefixes(lines: Sequence[str]) -> Prefixes:
    return Prefixes(*map(unescaped, lines))
