"""Chat templates from files, configurations and servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.chat.jinja_template import JinjaTemplate
from workbench.chat.template_sources import (
    load_templates,
    template_from_props,
    templates_from_tokenizer_config,
)
from workbench.domain.errors import TemplateError
from workbench.domain.json_values import JsonValue


@pytest.mark.parametrize("name", ["own.jinja", "own.txt", "own"])
def test_a_file_is_the_template_itself_to_the_byte(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("{{ 'ü' }}\r\n\n".encode())
    assert load_templates(tmp_path / name) == {"default": JinjaTemplate(name, "{{ 'ü' }}\r\n\n")}


def test_a_tokenizer_s_tokens_come_as_texts_or_as_objects(tmp_path: Path) -> None:
    config = {
        "chat_template": "{{ bos_token }}",
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": None,
        "added_tokens_decoder": {"5": {"content": "<|tool|>"}, "6": {"content": "  "}, "7": 3},
    }
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps(config))
    [template] = load_templates(file).values()
    assert (template.source, template.bos, template.eos) == ("{{ bos_token }}", "<s>", "</s>")
    assert template.specials == ("<pad>", "<|tool|>")
    assert template.variables == {"pad_token": "<pad>"}


def test_a_tokenizer_may_name_several_templates() -> None:
    named: list[JsonValue] = [
        {"name": "default", "template": "a"},
        {"name": "tool_use", "template": "b"},
        {"name": 3},
    ]
    found = templates_from_tokenizer_config({"chat_template": named}, "config")
    assert {name: template.source for name, template in found.items()} == {"default": "a", "tool_use": "b"}
    found = templates_from_tokenizer_config({"chat_template": {"rag": "c"}}, "config")
    assert {name: template.source for name, template in found.items()} == {"rag": "c"}


def test_a_model_s_folder_lends_the_tokens_to_the_template_beside_them(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("new")
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "old", "eos_token": "<e>"}')
    [template] = load_templates(tmp_path).values()
    assert (template.source, template.eos) == ("new", "<e>")
    (tmp_path / "chat_template.jinja").unlink()
    assert load_templates(tmp_path)["default"].source == "old"


def test_a_llama_cpp_server_tells_its_template() -> None:
    template = template_from_props({"chat_template": "x", "bos_token": "<s>", "eos_token": "</s>", "n": 1})
    assert template == JinjaTemplate("the server's own", "x", bos="<s>", eos="</s>", variables={})


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "not a tokenizer configuration"),
        (b'{"a": 1}', "has no chat template"),
        (b'{"chat_template": [1]}', "has no chat template"),
        (b"\xff", "not a text"),
        (b"[" * 100_000, "t.json is not"),
    ],
)
def test_an_unusable_configuration_says_why(tmp_path: Path, content: bytes, title: str) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(content)
    with pytest.raises(TemplateError) as caught:
        load_templates(file)
    assert title in caught.value.title


def test_a_missing_file_a_bare_folder_and_a_silent_server_are_errors(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="cannot be read"):
        load_templates(tmp_path / "none.jinja")
    with pytest.raises(TemplateError, match="has no chat template"):
        load_templates(tmp_path)
    with pytest.raises(TemplateError, match="reports no chat template"):
        template_from_props({"chat_template": ""})


def test_a_processor_s_template_has_the_tokens_of_the_tokenizer_beside_it(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>", "eos_token": "</s>"}')
    (tmp_path / "chat_template.json").write_text('{"chat_template": "{{ bos_token }}"}')
    for path in (tmp_path, tmp_path / "chat_template.json"):
        [template] = load_templates(path).values()
        assert (template.source, template.bos, template.eos) == ("{{ bos_token }}", "<s>", "</s>")


def test_a_template_file_of_a_model_has_the_tokens_of_the_tokenizer_beside_it(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "</s>", "chat_template": "old"}')
    (tmp_path / "chat_template.jinja").write_text("new")
    [template] = load_templates(tmp_path / "chat_template.jinja").values()
    assert (template.source, template.eos) == ("new", "</s>")
    (tmp_path / "own.jinja").write_text("own")
    [template] = load_templates(tmp_path / "own.jinja").values()
    assert (template.source, template.eos) == ("own", "")


@pytest.mark.parametrize("is_main_there", [True, False])
def test_a_model_s_folder_may_hold_additional_templates(is_main_there: bool, tmp_path: Path) -> None:
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("RAG")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    if is_main_there:
        (tmp_path / "chat_template.jinja").write_text("MAIN")
    found = {name: (template.source, template.eos) for name, template in load_templates(tmp_path).items()}
    main = {"default": ("MAIN", "</s>")} if is_main_there else {}
    assert found == {**main, "rag": ("RAG", "</s>")}
