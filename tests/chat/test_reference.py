"""Prompts are those of transformers' own renderer, byte for byte."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from tests.chat.reference import CONVERSATIONS, RECORDED, Case, ask_transformers, cases, embedded_template
from workbench.chat.builtin_templates import (
    ALPACA,
    CHATML,
    GEMMA,
    LLAMA_3,
    MISTRAL,
    VICUNA,
    BuiltinTemplate,
)
from workbench.chat.jinja_template import ChatRenderer
from workbench.domain.errors import TemplateError

_EXPECTED: dict[str, str | None] = json.loads(RECORDED.read_text("utf-8"))
_CASES = cases()
LOSES = "The template leaves out the system prompt"


@pytest.fixture
async def renderer() -> AsyncIterator[ChatRenderer]:
    """A renderer whose process ends with the test."""
    created = ChatRenderer()
    yield created
    await created.aclose()


async def rendered(renderer: ChatRenderer, case: Case) -> str | None:
    """The prompt of a case, or None where the template refuses."""
    try:
        return (await renderer.render(case.template, case.conversation)).prompt
    except TemplateError as error:
        assert error.title in ("The template refused the conversation", LOSES)
        return None


@pytest.mark.slow
async def test_every_prompt_is_that_of_transformers(renderer: ChatRenderer) -> None:
    got = {case.name: await rendered(renderer, case) for case in _CASES}
    # This one knows no system prompt, and transformers loses it without a word.
    loses = {
        case.name: None
        for case in _CASES
        if case.template.name == "generation_tag" and case.conversation.system
    }
    assert got == {**_EXPECTED, **loses}


@pytest.mark.slow
def test_the_recorded_prompts_are_what_transformers_makes_today() -> None:
    assert ask_transformers() == _EXPECTED


def test_the_record_covers_templates_of_many_kinds_and_hardly_any_refuses() -> None:
    assert set(_EXPECTED) == {case.name for case in _CASES}
    assert len({case.template.source for case in _CASES}) > 16
    refused = sorted(name for name, prompt in _EXPECTED.items() if prompt is None)
    assert {name.partition(":")[0] for name in refused} == {"mistral_v1"}


@pytest.mark.parametrize(
    ("builtin", "published"),
    [
        (CHATML, "chatml"),
        (LLAMA_3, "llama3"),
        (MISTRAL, "mistral_v3"),
        (GEMMA, "gemma3"),
        (ALPACA, "alpaca"),
        (VICUNA, "vicuna"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_built_in_templates_write_what_the_templates_of_their_models_write(
    builtin: BuiltinTemplate, published: str, conversation: str
) -> None:
    expected = _EXPECTED[f"{published}: {conversation}"]
    assert expected is not None
    rendered = builtin.render(CONVERSATIONS[conversation])
    assert rendered.without_bos().prompt == expected.removeprefix("<s>")


@pytest.mark.slow
async def test_the_embedded_model_s_template_knows_where_its_answers_end(renderer: ChatRenderer) -> None:
    rendered = await renderer.render(embedded_template(), CONVERSATIONS["five turns"])
    assert rendered.stop == ("<|im_end|>",)
    assert rendered.without_bos() == rendered, "its first token opens a turn, not the text"
    marked = [rendered.prompt[span.start : span.end] for span in rendered.specials]
    assert marked == ["<|im_start|>", "<|im_end|>"] * 6 + ["<|im_start|>"]
