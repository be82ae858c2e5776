"""Chat templates of Hugging Face models, rendered in a sandboxed child process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from workbench.chat.builtin_templates import BuiltinTemplate
from workbench.chat.jinja_sandbox import Limits, Sandbox
from workbench.chat.rendered_prompt import Rendered, find_specials
from workbench.domain.conversation import Conversation, Role, conversation_to_json
from workbench.domain.errors import TemplateError
from workbench.domain.json_values import JsonObject

_LONG = 200
"""Number of turns above which a conversation is processed in a thread."""
_TAG = "~answer goes on here~"
_PROBE = "~probe~"
_WHOLE_PART = re.compile(r"""['"]text['"]: ['"]\w*""")
_MOST_SHAPES = 64
"""Maximum number of conversation shapes for which the message format is cached."""
_BARRED = re.compile(r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜\s]{1,40}｜>")
_USUAL = re.compile(
    r"</?s>|<(?:bos|eos|pad|unk)>|</?think>|<(?:start|end)_of_turn>|<</?SYS>>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)

_Turns: TypeAlias = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A `chat_template`, with special tokens and variables from its tokenizer."""

    name: str
    """Source of the template, for display."""
    source: str
    bos: str = ""
    """The tokenizer's begin-of-text token as text; empty if unknown."""
    eos: str = ""
    stop: tuple[str, ...] = ()
    """Stop sequences in addition to `eos` and the text that the template writes after an answer."""
    specials: tuple[str, ...] = ()
    """Additional special tokens, to mark in a preview."""
    variables: JsonObject = field(default_factory=dict)
    """Additional variables for the template, such as `enable_thinking`."""


class ChatRenderer:
    """Renders conversations to prompts, with built-in or Jinja templates.

    Jinja runs in a child process, started for the first Jinja template and kept until the renderer is
    closed. Calls may overlap and may be cancelled, as in a live preview.
    """

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - a frozen value
        self._sandbox = Sandbox(limits)
        self._endings: dict[tuple[str, str, str], str] = {}
        self._wants_parts: dict[tuple[str, str, str, tuple[str, ...]], bool] = {}

    @property
    def pid(self) -> int | None:
        """The child's process id; None unless it is alive."""
        return self._sandbox.pid

    async def render(self, template: BuiltinTemplate | JinjaTemplate, conversation: Conversation) -> Rendered:
        """Return the exact prompt of a conversation, with its stop sequences.

        Raises TemplateError if the template is invalid, violates the sandbox, refuses the conversation, or
        omits the text of a turn.
        """
        # Thousands of turns take a tenth of a second, which must not block key presses.
        is_long = len(conversation.messages) > _LONG
        if isinstance(template, BuiltinTemplate):
            if is_long:
                return await asyncio.to_thread(template.render, conversation)
            return template.render(conversation)
        prompt = await self._prompt(template, conversation)
        ends = (await self._ending(template), template.eos, *template.stop)
        known = {template.bos, template.eos, *template.stop, *template.specials}
        known |= _likely_specials(template.source, prompt)
        if is_long:
            specials = await asyncio.to_thread(find_specials, prompt, conversation, known)
        else:
            specials = find_specials(prompt, conversation, known)
        # Only a template that uses bos_token: some models start every turn with the same token.
        writes_bos = "bos_token" in template.source and prompt.startswith(template.bos)
        stop = tuple(dict.fromkeys(filter(None, ends)))
        return Rendered(prompt, stop, specials, template.bos if writes_bos else "")

    async def aclose(self) -> None:
        """Stop the child process."""
        await self._sandbox.aclose()

    async def _prompt(self, template: JinjaTemplate, conversation: Conversation) -> str:
        messages = conversation_to_json(conversation)
        if not conversation.prefill:
            return await self._run(template, messages, add_generation_prompt=True)
        # The template renders the prefill as a finished answer; the text after the tag is discarded. The tag
        # also keeps a template that strips turns from stripping the end of the prefill.
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
        """Return the first word that the template writes after a finished answer; empty if none is found."""
        key = (template.source, template.bos, template.eos)
        if key in self._endings:
            return self._endings[key]
        turns = [{"role": "user", "content": "."}, {"role": "assistant", "content": _PROBE}]
        try:
            written = await self._run(template, turns, add_generation_prompt=False)
        except TemplateError:
            written = ""  # some templates refuse a conversation of these two turns
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
        """Whether a template needs a message's content as parts, `[{"type": "text", "text": …}]`.

        Renders markers, as a template may trim real texts. Raises TemplateError if neither form works.
        """
        marked = [{**turn, "content": f"4c1f{number}e9d2"} for number, turn in enumerate(turns)]

        async def lost(messages: Sequence[JsonObject]) -> str:
            written = (await self._render(template, messages, add_generation_prompt)).casefold()
            # A template that prints the list of parts itself does not support parts.
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
        what, alternative = f"text of the {role}", ""
        if role == Role.SYSTEM:
            what, alternative = "system prompt", " or remove the system prompt"
        raise failure or TemplateError(
            f"The template leaves out the {what}",
            "It is not in the prompt, given neither as a text nor as a list of parts.",
            f"Choose another template{alternative}.",
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


def _likely_specials(source: str, prompt: str) -> set[str]:
    """Guess the special tokens of a Jinja template: common forms in its source, and `<|…|>` in the prompt.

    Some templates assemble the latter, so that they do not appear in the source.
    """
    return {*_USUAL.findall(source), *_BARRED.findall(source), *_BARRED.findall(prompt)}
