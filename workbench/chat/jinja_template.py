"""Chat templates of Hugging Face models, rendered in a sandboxed process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from workbench.chat.rendered import Rendered, find_specials, likely_specials
from workbench.chat.sandbox import Limits, Sandbox
from workbench.chat.templates import BuiltinTemplate
from workbench.domain.conversation import Conversation, Role, conversation_to_json
from workbench.domain.errors import TemplateError
from workbench.domain.json_values import JsonObject

_LONG = 200
"""Turns from which on a conversation is rendered in a thread."""
_TAG = "~answer goes on here~"
_PROBE = "~probe~"
_WHOLE_PART = re.compile(r"""['"]text['"]: ['"]\w*""")
_MOST_SHAPES = 64
"""Shapes of conversations whose rendering is remembered."""

_Turns: TypeAlias = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A `chat_template` and what its tokenizer lends it."""

    name: str
    """Where it came from, for a person."""
    source: str
    bos: str = ""
    """The tokenizer's begin-of-text token as text; empty where unknown."""
    eos: str = ""
    stop: tuple[str, ...] = ()
    """Further stop sequences, beyond `eos` and what the template writes after an answer."""
    specials: tuple[str, ...] = ()
    """Further special tokens, to be marked in a preview."""
    variables: JsonObject = field(default_factory=dict)
    """Further variables for the template, such as `enable_thinking`."""


class ChatRenderer:
    """Makes prompts of conversations, through a built-in template or one of Jinja.

    Jinja runs in a child process that is started with the first such template and kept for the next; close
    the renderer to end it. Calls may overlap and be cancelled, as a live preview does.
    """

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - a frozen value
        self._sandbox = Sandbox(limits)
        self._endings: dict[tuple[str, str, str], str] = {}
        self._wants_parts: dict[tuple[str, str, str, tuple[str, ...]], bool] = {}

    @property
    def pid(self) -> int | None:
        """The child's process id while it is alive."""
        return self._sandbox.pid

    async def render(self, template: BuiltinTemplate | JinjaTemplate, conversation: Conversation) -> Rendered:
        """The exact prompt of a conversation, with its stop sequences.

        Raises TemplateError where the template is broken, hostile, refuses the conversation, or leaves out
        what a turn says.
        """
        # Thousands of turns take a tenth of a second, for which no key must wait.
        is_long = len(conversation.messages) > _LONG
        if isinstance(template, BuiltinTemplate):
            if is_long:
                return await asyncio.to_thread(template.render, conversation)
            return template.render(conversation)
        prompt = await self._prompt(template, conversation)
        ends = (await self._ending(template), template.eos, *template.stop)
        known = {template.bos, template.eos, *template.stop, *template.specials}
        known |= likely_specials(template.source, prompt)
        if is_long:
            specials = await asyncio.to_thread(find_specials, prompt, conversation, known)
        else:
            specials = find_specials(prompt, conversation, known)
        # Some models open every turn with the token that their tokenizer calls the beginning of the text.
        writes_bos = "bos_token" in template.source and prompt.startswith(template.bos)
        stop = tuple(dict.fromkeys(filter(None, ends)))
        return Rendered(prompt, stop, specials, template.bos if writes_bos else "")

    async def aclose(self) -> None:
        """End the child process."""
        await self._sandbox.aclose()

    async def _prompt(self, template: JinjaTemplate, conversation: Conversation) -> str:
        messages = conversation_to_json(conversation)
        if not conversation.prefill:
            return await self._run(template, messages, add_generation_prompt=True)
        # The template writes the answer as if it were whole; what it writes after the mark is not yet due.
        # The mark also keeps a template that strips turns from stripping the end of the prefill.
        messages.append({"role": Role.ASSISTANT.value, "content": conversation.prefill + _TAG})
        written = await self._run(template, messages, add_generation_prompt=False)
        prompt, tag, _ = written.rpartition(_TAG)
        if not tag or _TAG in prompt or not prompt.endswith(conversation.prefill.lstrip()):
            raise TemplateError(
                "The template cannot continue an answer",
                "It changes or repeats the text of the answer it is given.",
                "Leave the beginning of the answer empty, or choose another template.",
            )
        return prompt

    async def _ending(self, template: JinjaTemplate) -> str:
        """What the template writes after a finished answer."""
        key = (template.source, template.bos, template.eos)
        if key in self._endings:
            return self._endings[key]
        turns = [{"role": "user", "content": "."}, {"role": "assistant", "content": _PROBE}]
        try:
            written = await self._run(template, turns, add_generation_prompt=False)
        except TemplateError:
            written = ""  # a template may want more than these two turns
        _, _, after = written.rpartition(_PROBE)
        ending = next(iter(after.split()), "") if after != written else ""
        self._endings = {key: ending}
        return ending

    async def _run(self, template: JinjaTemplate, turns: _Turns, *, add_generation_prompt: bool) -> str:
        key = (template.source, template.bos, template.eos, tuple(turn["role"] for turn in turns))
        if key not in self._wants_parts:
            if len(self._wants_parts) == _MOST_SHAPES:
                self._wants_parts.clear()
            self._wants_parts[key] = await self._find_form(template, turns, add_generation_prompt)
        messages = _in_parts(turns) if self._wants_parts[key] else turns
        return await self._render(template, messages, add_generation_prompt)

    async def _find_form(self, template: JinjaTemplate, turns: _Turns, add_generation_prompt: bool) -> bool:
        """Whether a template takes a message as parts, `[{"type": "text", "text": …}]`, and not as a text.

        Marks stand for the texts, as a template may trim one or leave out what a model thought.
        """
        marked = [{**turn, "content": f"4c1f{number}e9d2"} for number, turn in enumerate(turns)]

        async def lost(messages: Sequence[JsonObject]) -> str:
            written = (await self._render(template, messages, add_generation_prompt)).casefold()
            # A list of parts that is written as it is shows no text.
            written = _WHOLE_PART.sub("", written)
            return next((turn["role"] for turn in marked if turn["content"] not in written), "")

        failure: TemplateError | None = None
        role = ""
        try:
            if not (role := await lost(marked)):
                return False
        except TemplateError as error:
            failure = error
        with suppress(TemplateError):
            if not await lost(_in_parts(marked)):
                return True
        what, way_out = f"text of the {role}", ""
        if role == Role.SYSTEM:
            what, way_out = "system prompt", " or remove the system prompt"
        raise failure or TemplateError(
            f"The template leaves out the {what}",
            "It is not in the prompt, given neither as a text nor as a list of parts.",
            f"Choose another template{way_out}.",
        )

    async def _render(
        self, template: JinjaTemplate, messages: Sequence[JsonObject], add_generation_prompt: bool
    ) -> str:
        variables = {
            "tools": None,
            "documents": None,
            "bos_token": template.bos,
            "eos_token": template.eos,
            **template.variables,
            "messages": list(messages),
            "add_generation_prompt": add_generation_prompt,
        }
        return await self._sandbox.render(template.source, variables)


def _in_parts(turns: _Turns) -> Sequence[JsonObject]:
    return [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in turns]
