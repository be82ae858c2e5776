"""Built-in chat templates, each written from its published format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import Enum, auto
from types import MappingProxyType

from workbench.chat.rendered_prompt import Rendered, find_specials
from workbench.domain.conversation import Conversation, Message, Prefixes, Role

PLAIN = "plain"
"""Name of the template with configurable prefixes."""


class SystemPosition(Enum):
    """The position of the system prompt in a format."""

    OWN_TURN = auto()
    FIRST_USER_TURN = auto()
    LAST_USER_TURN = auto()


@dataclass(frozen=True, slots=True)
class Frame:
    """The text before and after a turn."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class BuiltinTemplate:
    """A chat format, defined by the text around each kind of turn."""

    name: str
    title: str
    """Name of the format and the models that use it, for display."""
    user: Frame
    assistant: Frame
    system: Frame
    """For a system prompt within a user turn, only `after` is used, as the separator."""
    opening: str
    """The text before an answer without a prefill."""
    stop: tuple[str, ...]
    specials: tuple[str, ...] = ()
    bos: str = ""
    system_position: SystemPosition = SystemPosition.OWN_TURN
    default_system: str = ""
    """The system prompt of conversations that do not set one."""
    trims: bool = False
    """Whether the format strips whitespace around the text of a turn."""

    def render(self, conversation: Conversation) -> Rendered:
        """Return the exact prompt of a conversation. The prefill is not stripped: the model continues it."""
        frames = {Role.SYSTEM: self.system, Role.USER: self.user, Role.ASSISTANT: self.assistant}
        turns = ((frames[turn.role], turn.text) for turn in self._turns(conversation))
        opening = self.assistant.before + conversation.prefill if conversation.prefill else self.opening
        prompt = "".join(
            [self.bos, *(f"{frame.before}{text}{frame.after}" for frame, text in turns), opening]
        )
        specials = find_specials(prompt, conversation, (self.bos, *self.specials))
        return Rendered(prompt, self.stop, specials, self.bos)

    def _turns(self, conversation: Conversation) -> Sequence[Message]:
        system = self.default_system if conversation.system is None else conversation.system
        turns = [self._stripped(message) for message in conversation.messages]
        if self.system_position is SystemPosition.OWN_TURN:
            return [self._stripped(Message(Role.SYSTEM, system)), *turns] if system else turns
        turns = self._with_folded_turns(turns)
        users = [index for index, turn in enumerate(turns) if turn.role is Role.USER]
        if not system:
            return turns
        if not users:
            return [Message(Role.USER, system), *turns]
        index = users[0 if self.system_position is SystemPosition.FIRST_USER_TURN else -1]
        turns[index] = Message(Role.USER, f"{system}{self.system.after}{turns[index].text}")
        return turns

    def _with_folded_turns(self, messages: Sequence[Message]) -> list[Message]:
        """Prepend system turns to the user turn after them; at the end they become a user turn."""
        turns: list[Message] = []
        waiting = ""
        for message in messages:
            if message.role is Role.SYSTEM:
                waiting = f"{waiting}{message.text}{self.system.after}"
            elif waiting and message.role is Role.USER:
                turns.append(Message(Role.USER, waiting + message.text))
                waiting = ""
            else:
                turns.append(message)
        return [*turns, Message(Role.USER, waiting.removesuffix(self.system.after))] if waiting else turns

    def _stripped(self, message: Message) -> Message:
        return Message(message.role, message.text.strip()) if self.trims else message


def plain_template(prefixes: Prefixes = Prefixes()) -> BuiltinTemplate:  # noqa: B008 - a frozen value
    """Return a plain-text template with the given prefixes and separator between turns.

    The prefix of an answer without prefill loses its trailing spaces, because a model generates the space
    before a word as part of the word's token.
    """
    user, assistant, system, separator = astuple(prefixes)
    stop = separator + user.rstrip()
    return BuiltinTemplate(
        PLAIN,
        "Plain text with prefixes",
        user=Frame(user, separator),
        assistant=Frame(assistant, separator),
        system=Frame(system, separator),
        opening=assistant.rstrip(),
        stop=(stop,) if stop.strip() else (),
        specials=tuple(prefix.rstrip() for prefix in (user, assistant, system)),
    )


CHATML = BuiltinTemplate(
    "chatml",
    "ChatML (Qwen, SmolLM2, Yi, Hermes)",
    user=Frame("<|im_start|>user\n", "<|im_end|>\n"),
    assistant=Frame("<|im_start|>assistant\n", "<|im_end|>\n"),
    system=Frame("<|im_start|>system\n", "<|im_end|>\n"),
    opening="<|im_start|>assistant\n",
    stop=("<|im_end|>",),
    specials=("<|im_start|>", "<|im_end|>"),
)

LLAMA_3 = BuiltinTemplate(
    "llama3",
    "Llama 3 (Meta Llama 3 to 3.3 Instruct)",
    user=Frame("<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"),
    assistant=Frame("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    system=Frame("<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"),
    opening="<|start_header_id|>assistant<|end_header_id|>\n\n",
    stop=("<|eot_id|>",),
    specials=("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    bos="<|begin_of_text|>",
    trims=True,
)

MISTRAL = BuiltinTemplate(
    "mistral",
    "Mistral (7B Instruct v0.3, Mixtral 8x22B)",
    user=Frame("[INST] ", "[/INST]"),
    assistant=Frame(" ", "</s>"),
    system=Frame("", "\n\n"),
    opening="",
    stop=("</s>", "[INST]"),
    specials=("[INST]", "[/INST]", "</s>"),
    bos="<s>",
    system_position=SystemPosition.LAST_USER_TURN,
)

GEMMA = BuiltinTemplate(
    "gemma",
    "Gemma (Google Gemma 1 to 3 Instruct)",
    user=Frame("<start_of_turn>user\n", "<end_of_turn>\n"),
    assistant=Frame("<start_of_turn>model\n", "<end_of_turn>\n"),
    system=Frame("", "\n\n"),
    opening="<start_of_turn>model\n",
    stop=("<end_of_turn>",),
    specials=("<start_of_turn>", "<end_of_turn>"),
    bos="<bos>",
    system_position=SystemPosition.FIRST_USER_TURN,
    trims=True,
)

ALPACA = BuiltinTemplate(
    "alpaca",
    "Alpaca (instruction and response)",
    user=Frame("### Instruction:\n", "\n\n"),
    assistant=Frame("### Response:", "\n\n"),
    system=Frame("", "\n\n"),
    opening="### Response:",
    stop=("### Instruction:",),
    specials=("### Instruction:", "### Response:"),
    default_system=(
        "Below is an instruction that describes a task. "
        "Write a response that appropriately completes the request."
    ),
)

VICUNA = BuiltinTemplate(
    "vicuna",
    "Vicuna v1.1 (USER and ASSISTANT)",
    user=Frame("USER: ", " "),
    assistant=Frame("ASSISTANT: ", "</s>"),
    system=Frame("", " "),
    opening="ASSISTANT:",
    stop=("</s>", "USER:"),
    specials=("USER:", "ASSISTANT:", "</s>"),
    default_system=(
        "A chat between a curious user and an artificial intelligence assistant. "
        "The assistant gives helpful, detailed, and polite answers to the user's questions."
    ),
)

BUILTIN_TEMPLATES: Mapping[str, BuiltinTemplate] = MappingProxyType(
    {form.name: form for form in (plain_template(), CHATML, LLAMA_3, MISTRAL, GEMMA, ALPACA, VICUNA)}
)
"""Built-in templates by name, in display order."""
