"""`workbench run --chat`: a conversation through a template, and variables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_run import workbench
from tests.client.loopback import DONE, JSON, answering, event, in_turn, serving
from workbench.cli.chat import fill_prompt, read_variables
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TextsPrompt, TokensPrompt

ANSWER = answering(event("x", finish_reason="stop") + DONE)
TURNS = [{"role": "system", "content": "Be {{how}}."}, {"role": "user", "content": "Hi"}]


def conversation(folder: Path) -> str:
    path = folder / "chat.json"
    path.write_text(json.dumps(TURNS))
    return str(path)


async def test_a_conversation_becomes_its_templates_prompt_with_its_stop_sequences(tmp_path: Path) -> None:
    async with serving(ANSWER) as server:
        done = await workbench(
            *("run", "--chat", conversation(tmp_path), "--template", "chatml", "--set", "how=brief"),
            *("--endpoint", server.base_url),
        )
    assert done.status == 0
    body = server.requests[0].json
    assert body["prompt"] == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert body["stop"] == ["<|im_end|>"]


async def test_without_a_template_the_endpoints_own_is_used(tmp_path: Path) -> None:
    props = {"chat_template": "{% for m in messages %}[{{ m.content }}]{% endfor %}", "eos_token": "</s>"}
    async with serving(in_turn(answering(json.dumps(props).encode(), content_type=JSON), ANSWER)) as server:
        done = await workbench("run", "--chat", conversation(tmp_path), "--endpoint", server.base_url)
    assert done.status == 0
    assert server.requests[0].path == "/props"
    assert server.requests[1].json["prompt"] == "[Be {{how}}.][Hi]"


async def test_an_unknown_template_is_named_with_the_known_ones(tmp_path: Path) -> None:
    async with serving(ANSWER) as server:
        done = await workbench(
            "run", "--chat", conversation(tmp_path), "--template", "no", "--endpoint", server.base_url
        )
        assert server.requests == []
    assert done.status == 1
    assert "there is no template 'no'" in done.err
    assert "chatml" in done.err


async def test_a_broken_conversation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user"}]')
    done = await workbench("run", "--chat", str(path))
    assert done.status == 2
    assert "turn 1" in done.err


def test_variables_fill_every_text_and_leave_token_ids_alone() -> None:
    values = read_variables(["a=1=2", "b="])
    assert fill_prompt(TextPrompt("{{a}}-{{b}}"), values) == TextPrompt("1=2-")
    assert fill_prompt(TextsPrompt(("{{a}}", "x")), values) == TextsPrompt(("1=2", "x"))
    assert fill_prompt(TokensPrompt((1,)), values) == TokensPrompt((1,))


def test_a_variable_without_a_value_is_named_once_any_is_given() -> None:
    assert fill_prompt(TextPrompt("{{a}}"), {}) == TextPrompt("{{a}}")
    with pytest.raises(BadValueError, match="no value for c"):
        fill_prompt(TextPrompt("{{a}} {{c}}"), {"a": "1"})
    with pytest.raises(BadValueError, match="NAME=VALUE"):
        read_variables(["a"])
