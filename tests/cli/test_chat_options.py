"""`workbench run --chat`: a conversation through a template, and variables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_run import workbench
from tests.client.loopback import DONE, JSON, answering, event, in_turn, serving
from workbench.cli.chat_options import read_variables
from workbench.cli.session_files import read_session
from workbench.domain.errors import BadValueError

ANSWER = answering(event("x", finish_reason="stop") + DONE)
TURNS = [{"role": "system", "content": "Be {{how}}."}, {"role": "user", "content": "Hi"}]


def conversation(folder: Path) -> str:
    path = folder / "chat.json"
    path.write_text(json.dumps(TURNS))
    return str(path)


async def test_a_conversation_becomes_its_templates_prompt_with_its_stop_sequences(tmp_path: Path) -> None:
    async with serving(ANSWER) as server:
        done = await workbench(
            *("run", "--chat", conversation(tmp_path), "--template", "chatml", "--var", "how=brief"),
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


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_where_an_endpoint_has_no_template_a_choice_is_offered(status: int, tmp_path: Path) -> None:
    async with serving(answering(b"{}", status)) as server:
        done = await workbench("run", "--chat", conversation(tmp_path), "--endpoint", server.base_url)
    assert done.status == 1
    assert "The endpoint reports no chat template" in done.err
    assert "Choose a built-in template" in done.err
    assert [request.path for request in server.requests] == ["/props"]


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


def test_what_is_no_variable_is_named() -> None:
    assert read_variables(["a=1=2", "b="]) == {"a": "1=2", "b": ""}
    with pytest.raises(BadValueError, match="NAME=VALUE"):
        read_variables(["a"])


async def test_a_conversation_goes_on_in_its_session_with_its_template_and_variables(tmp_path: Path) -> None:
    session = str(tmp_path / "s.toml")
    values = tmp_path / "values.toml"
    values.write_text('how = "brief"\ncount = 2\n')
    async with serving(ANSWER) as server:
        to = ("--session", session, "--endpoint", server.base_url)
        first = ("--chat", conversation(tmp_path), "--vars", str(values), "--template", "plain")
        done = await workbench("run", *first, "--prefix", "user=Q: ", "--prefix", r"separator=\n\n", *to)
        assert done.status == 0, done.err
        done = await workbench("run", "--say", "And {{count}}?", *to)
        assert done.status == 0, done.err
        assert [request.json["prompt"] for request in server.requests] == [
            "Be brief.\n\nQ: Hi\n\nAssistant:",
            "Be brief.\n\nQ: Hi\n\nAssistant: x\n\nQ: And 2?\n\nAssistant:",
        ]
        done = await workbench("run", "--chat", conversation(tmp_path), *to)
        assert done.status == 0, done.err
        done = await workbench("run", "--say", "{{no}}", *to)
        assert done.status == 2
        assert "No value for no" in done.err
    kept = read_session(session).chat
    assert [turn.text for turn in kept.turns.path()] == ["Hi", "x"]
    assert sorted(turn.text for turn in kept.turns.all) == ["And {{count}}?", "Hi", "x", "x", "x"]


async def test_an_answer_at_the_end_goes_on_and_what_does_not_fit_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    turns = ["one " * 30, "A", "two", "Once upon"]
    roles = ["user", "assistant"] * 2
    path.write_text(json.dumps([{"role": r, "content": t} for r, t in zip(roles, turns, strict=True)]))
    async with serving(ANSWER) as server:
        cut = ("--when-full", "drop-oldest", "--context", "60", "--max-tokens", "16")
        done = await workbench(
            "run", "--chat", str(path), "--template", "plain", *cut, "--endpoint", server.base_url
        )
        assert done.status == 0, done.err
        assert server.requests[0].json["prompt"] == "User: two\nAssistant: Once upon"


async def test_what_makes_no_conversation_is_refused(tmp_path: Path) -> None:
    for given in (
        ["--say", "x"],
        ["--chat", conversation(tmp_path), "--prompt", "x"],
        ["--chat", conversation(tmp_path), "--prefix", "no=x"],
        ["--chat", conversation(tmp_path), "--context", "0"],
        ["--prompt", "x", "--template", "chatml"],
        ["--prompt", "x", "--prefix", "user=x"],
        ["--prompt", "x", "--when-full", "refuse"],
        ["--prompt", "x", "--context", "5"],
    ):
        done = await workbench("run", *given, "--endpoint", "http://127.0.0.1:9/v1")
        assert done.status == 2, given
