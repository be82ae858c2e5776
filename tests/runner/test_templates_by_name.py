"""Which template a name, a file or one of several in a file is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.chat.jinja_template import JinjaTemplate
from workbench.domain.errors import TemplateError
from workbench.runner.chat_request import named_template


def written(folder: Path, *names: str) -> str:
    """A tokenizer's configuration with templates of some names, each its own name."""
    templates = [{"name": name, "template": name} for name in names]
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": templates}))
    return str(path)


def source_of(name: str) -> str:
    """The source of the template of a name."""
    template = named_template(name)
    assert isinstance(template, JinjaTemplate)
    return template.source


def test_of_several_templates_the_default_one_is_meant(tmp_path: Path) -> None:
    path = written(tmp_path, "tool_use", "default", "rag")
    assert source_of(path) == source_of(str(tmp_path)) == "default"
    assert source_of(f"{path}:rag") == source_of(f"{tmp_path}:rag") == "rag"


def test_the_only_template_needs_no_name(tmp_path: Path) -> None:
    assert source_of(written(tmp_path, "rag")) == "rag"


def test_several_templates_without_a_default_are_named(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"has no template 'default'[\s\S]*tool_use, rag"):
        named_template(written(tmp_path, "tool_use", "rag"))


def test_an_additional_template_of_a_model_s_folder_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("RAG")
    (tmp_path / "chat_template.jinja").write_text("MAIN")
    assert (source_of(str(tmp_path)), source_of(f"{tmp_path}:rag")) == ("MAIN", "RAG")
