"""Built-in templates: turns, prefills, stop sequences and special tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_layers import loaded_by
from workbench.chat.builtin_templates import (
    ALPACA,
    BUILTIN_TEMPLATES,
    CHATML,
    GEMMA,
    LLAMA_3,
    MISTRAL,
    VICUNA,
    BuiltinTemplate,
    plain_template,
)
from workbench.chat.rendered_prompt import Rendered, SpecialToken
from workbench.domain.conversation import Conversation, Message, Prefixes, Role

_TURNS = Conversation((Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Ho"), Message(Role.USER, "And?")))
_EACH = pytest.mark.parametrize("template", BUILTIN_TEMPLATES.values(), ids=list(BUILTIN_TEMPLATES))
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=":"), max_size=20)


def marked(rendered: Rendered) -> list[str]:
    """The texts that are marked as special."""
    return [rendered.prompt[span.start : span.end] for span in rendered.specials]


@_EACH
def test_a_prefilled_answer_ends_the_prompt_exactly(template: BuiltinTemplate) -> None:
    prefilled = Conversation(_TURNS.messages, "Be brief.", "  Well, \n ")
    assert template.render(prefilled).prompt.endswith("  Well, \n ")


@_EACH
def test_a_cut_answer_continues_where_the_whole_one_stood(template: BuiltinTemplate) -> None:
    answer = (Message(Role.ASSISTANT, "Because of the sea."), Message(Role.USER, "I see."))
    whole = template.render(Conversation((*_TURNS.messages, *answer), _TURNS.system))
    cut = template.render(Conversation(_TURNS.messages, _TURNS.system, "Because of"))
    assert whole.prompt.startswith(cut.prompt) or template is MISTRAL
    assert cut.prompt.endswith("Because of")


@_EACH
def test_what_stops_an_answer_stands_after_every_earlier_answer(template: BuiltinTemplate) -> None:
    prompt = template.render(_TURNS).prompt
    after = prompt[prompt.index("Ho") + 2 :]
    assert any(after.lstrip("\n").startswith(text.lstrip("\n")) for text in template.stop)


@_EACH
def test_a_system_turn_in_the_middle_is_not_lost(template: BuiltinTemplate) -> None:
    turns = (*_TURNS.messages[:2], Message(Role.SYSTEM, "Now shout."), *_TURNS.messages[2:])
    prompt = template.render(Conversation(turns)).prompt
    assert prompt.index("Ho") < prompt.index("Now shout.") < prompt.index("And?")


def test_no_system_prompt_is_none_and_the_template_s_own_only_when_left_to_it() -> None:
    for template in (ALPACA, VICUNA):
        assert template.default_system in template.render(Conversation(_TURNS.messages)).prompt
        assert template.default_system not in template.render(Conversation(_TURNS.messages, "")).prompt


def test_a_system_prompt_without_turns_is_still_sent() -> None:
    assert GEMMA.render(Conversation((), "Be kind.")).prompt == (
        "<bos><start_of_turn>user\nBe kind.<end_of_turn>\n<start_of_turn>model\n"
    )


def test_the_begin_of_text_token_can_be_left_to_the_endpoint() -> None:
    rendered = LLAMA_3.render(_TURNS)
    assert rendered.prompt.startswith("<|begin_of_text|><|start_header_id|>")
    bare = rendered.without_bos()
    assert bare.prompt == rendered.prompt.removeprefix("<|begin_of_text|>")
    assert marked(bare) == marked(rendered)[1:]
    assert bare.without_bos() is bare


def test_special_tokens_are_marked_also_those_that_a_turn_brings_along() -> None:
    rendered = CHATML.render(Conversation((Message(Role.USER, "say <|im_end|>"),)))
    assert rendered.specials == (
        SpecialToken(0, 12),
        SpecialToken(21, 31, injected=True),
        SpecialToken(31, 41),
        SpecialToken(42, 54),
    )
    assert marked(rendered) == ["<|im_start|>", "<|im_end|>", "<|im_end|>", "<|im_start|>"]


def test_plain_text_reads_like_a_script_and_ends_without_a_blank() -> None:
    rendered = plain_template(Prefixes("Q: ", "A: ")).render(Conversation(_TURNS.messages, "A talk."))
    assert rendered.prompt == "A talk.\nQ: Hi\nA: Ho\nQ: And?\nA:"
    assert rendered.stop == ("\nQ:",)
    assert marked(rendered) == ["Q:", "A:", "Q:", "A:"]


def test_plain_text_without_prefixes_is_just_the_texts() -> None:
    rendered = plain_template(Prefixes("", "", separator="")).render(Conversation(_TURNS.messages))
    assert rendered == Rendered("HiHoAnd?", ())


@given(st.lists(_TEXTS, max_size=6), _TEXTS)
def test_plain_text_can_be_taken_apart_again(texts: list[str], prefill: str) -> None:
    roles = [Role.USER, Role.ASSISTANT] * 3
    messages = tuple(map(Message, roles, texts))
    prompt = (
        plain_template(Prefixes("U: ", "M: ", separator=":"))
        .render(Conversation(messages, "", prefill))
        .prompt
    )
    parts = prompt.split(":")
    assert parts[1 : 2 * len(texts) : 2] == [f" {text}" for text in texts]
    assert parts[0 : 2 * len(texts) : 2] == ["U", "M", "U", "M", "U", "M"][: len(texts)]
    assert parts[2 * len(texts) :] == ["M", f" {prefill}" if prefill else ""]


@given(st.sampled_from(list(BUILTIN_TEMPLATES.values())), st.lists(st.text(), max_size=5), st.text())
def test_marks_lie_in_the_prompt_in_order(template: BuiltinTemplate, texts: list[str], system: str) -> None:
    messages = tuple(Message(list(Role)[index % 3], text) for index, text in enumerate(texts))
    rendered = template.render(Conversation(messages, system))
    edges = [edge for span in rendered.specials for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(rendered.prompt) for edge in edges)
    assert all(span.start < span.end for span in rendered.specials)


def test_nobody_pays_for_jinja_before_a_template_of_jinja_is_rendered() -> None:
    loaded = loaded_by("import workbench.chat.jinja_template, workbench.chat.template_sources")
    assert "workbench.chat.jinja_template" in loaded
    assert not {"jinja2", "textual", "httpx"} & loaded
