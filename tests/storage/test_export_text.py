"""What is handed to others is complete, safe to open, and free of keys."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.domain.builders import choice_of, run_of, token_of
from tests.storage.session_cases import runs
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.run import Parent, Run
from workbench.domain.session import Session
from workbench.runner.import_curl import curl_from_text
from workbench.storage.export_curl import to_curl, to_python
from workbench.storage.export_html_svg import to_html, to_svg
from workbench.storage.export_text import run_facts, to_markdown, to_text
from workbench.storage.json_lines import runs_from_json_lines, to_json_lines
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_file import parse_session

_HOSTILE = "</pre><script>alert(1)</script>\x1b[31m\x00`````"


def _hostile() -> Session:
    run = run_of(choice_of([token_of(_HOSTILE, 0.05, two=0.5), token_of(" tail", 0.95)]), prompt=_HOSTILE)
    return Session(title=_HOSTILE, runs=[run])


def test_html_runs_no_script_and_loads_nothing() -> None:
    page = to_html(_hostile())
    assert "<script" not in page
    assert not re.search("[\x00\x1b]", page)
    assert not re.search(r"(src|href)=", page)


def test_html_shows_each_token_s_level_and_alternatives() -> None:
    page = to_html(
        Session(runs=[run_of(choice_of([token_of("sure", 0.95), token_of(" odd", 0.05, two=0.5)]))])
    )
    assert re.search(r'class="l0"[^>]*>sure<', page)
    assert re.search(r'class="l4" title="[^"]*50\.0%[^"]*two[^"]*"> odd<', page)


def _branched() -> Session:
    """Two runs, the second one a branch with parameters, a preset and a seed."""
    first, second = run_of(choice_of([" upon", " a"])), run_of(choice_of([token_of(" there", 0.5)]))
    values: dict[str, ParameterValue] = {"temperature": 0.25, "seed": 7, "stop": ("<b>",)}
    second.request = second.request._replace(model="m<1>", parameters=Parameters(values))
    second.preset, second.endpoint, second.total = "precise", "lab", 0.5
    second.parent = Parent(first.id, 0, 1, " there")
    second.started = datetime(2026, 9, 1, 10, 0, 1, tzinfo=UTC)
    return Session(title="Tale", runs=[first, second])


def test_html_has_what_a_run_was_sent_with_and_how_it_ended() -> None:
    page = to_html(_branched())
    text = unescape(re.sub(r"<[^>]*>", "", page[page.index("<h2>2.") :]))
    assert text.startswith("2. m<1>\n")
    assert "2026-09-01 10:00:01 UTC · lab · m<1> · preset precise" in text
    assert "branched from run 1 at token 2 · complete" in text
    assert 'temperature = 0.25 · seed = 7 · stop = ["<b>"]' in text
    assert "Answer 1 · stop · 1 token · " in text
    assert "perplexity 2.00" in text


def test_markdown_has_the_same_facts() -> None:
    text = to_markdown(_branched())
    assert "preset precise · branched from run 1 at token 2" in text
    assert "` seed = 7 `" in text
    assert "**Answer 1** (stop · 1 token · " in text


@pytest.mark.parametrize(
    ("probability", "shown"), [(0.0001, "&lt;0.1%"), (0.99999, "&gt;99.9%"), (1, "100.0%")]
)
def test_a_small_probability_never_reads_as_nothing(probability: float, shown: str) -> None:
    run = run_of(choice_of([token_of(" rare", probability)]))
    for written in (to_html(Session(runs=[run])), to_svg(run)):
        assert f"&#x27; rare&#x27; {shown}" in written


@settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
@given(runs())
def test_any_run_is_well_formed_svg(run: Run) -> None:
    ElementTree.fromstring(to_svg(run).encode())


def test_markdown_keeps_hostile_text_inside_its_fences() -> None:
    text = to_markdown(_hostile())
    assert "``````text\n" in text
    assert "\x1b" not in text


def test_text_is_prompt_and_answer() -> None:
    assert to_text(Session(runs=[run_of(choice_of([" upon"]), prompt="Once")])) == "Once upon\n"


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(runs())
def test_json_lines_come_back_with_every_text_and_logprob(run: Run) -> None:
    line = to_json_lines(Session(runs=[run]))
    assert line.count("\n") == 1
    json.loads(line, parse_constant=pytest.fail)
    # JSON has no infinity: this number stands for it, and so cannot be told from it.
    assume(all(token.logprob != -9999 for choice in run.ordered for token in choice))
    (again,) = runs_from_json_lines(line, "a.jsonl")
    assert again.id == run.id
    for choice in run.ordered:
        copied = again.choices[choice.index]
        if len(choice):
            assert copied.texts() == choice.texts()
            assert [token.logprob for token in copied] == [token.logprob for token in choice]


def test_a_line_that_is_no_run_is_named() -> None:
    good = to_json_lines(Session(runs=[run_of(choice_of(["a"]))]))
    with pytest.raises(StorageError, match=r"a\.jsonl, line 2"):
        runs_from_json_lines(f"{good}[]\n", "a.jsonl")


def test_curl_comes_back_as_the_same_request_and_names_only_the_key_s_variable() -> None:
    request = run_of(choice_of(["a"]), prompt="it's\n$HOME `x`").request
    command = to_curl(request.body(), "http://127.0.0.1:1/v1/completions", "MY_KEY")
    assert "Bearer $MY_KEY" in command
    again = curl_from_text(command)
    assert again.url == "http://127.0.0.1:1/v1/completions"
    assert again.request.body() == request.body()


@pytest.mark.parametrize("option", ["-d", "--data", "--json", "--data-raw", "-d="])
def test_curl_s_ways_of_giving_data_are_understood(option: str) -> None:
    data = shlex.quote('{"prompt": "a", "model": "m"}')
    text = (
        f"curl -X POST {option.removesuffix('=')} {data} \\\n -H 'Authorization: Bearer secret' http://a/v1"
    )
    assert curl_from_text(text).request.model == "m"


@pytest.mark.parametrize(
    "text",
    ["", "wget x", "curl 'x", "curl http://a -d @file", "curl http://a -d '['", "curl http://[ -d '{}'"],
)
def test_what_is_no_curl_command_says_why(text: str) -> None:
    with pytest.raises(BadValueError, match="cannot be imported"):
        curl_from_text(text)


def test_the_python_program_compiles_and_reads_its_key_from_the_environment() -> None:
    program = to_python({"prompt": '"""\\\n\u2028'}, "http://a/v1", "bad name; rm")
    compile(program, "exported", "exec")
    assert 'os.environ["WORKBENCH_API_KEY"]' in program


@pytest.mark.parametrize("kind", ["rerun", "blessed"])
def test_a_run_that_was_sent_again_leaves_no_token(kind: str) -> None:
    first, again = run_of(choice_of(["a"])), run_of(choice_of(["b"]))
    again.parent = Parent(first.id, kind=kind)
    facts = run_facts(Session(runs=[first, again]), again)
    assert [fact for fact in facts if "run 1" in fact] == ["re-run of run 1"]


@pytest.mark.parametrize("arrived", ["Infinity", "-1", "NaN", "1e300"])
def test_times_that_no_answer_takes_are_left_out_of_an_import(arrived: str) -> None:
    line = f'{{"choices": [{{"text": "a", "arrived": [{arrived}]}}]}}'
    (run,) = runs_from_json_lines(line, "a.jsonl")
    assert list(run.choice(0).at) == [0.0]
    (again,) = parse_session(f"format = 1\n{run_to_toml(run)}".encode(), Path("s.toml")).session.runs
    assert again.id == run.id


_ANY = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        ["2024-01-01T00:00:00+01:02:03", "1970-01-01T00:00:00+23:59", "9999-12-31T23:59:59-01:00"]
    )
)
_LINES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("run", "started", "model", "id", "created", "endpoint"), _ANY),
        "request": st.dictionaries(
            st.sampled_from(["prompt", "max_tokens", "stop", "x", ""]), _ANY, max_size=3
        ),
        "usage": st.dictionaries(st.sampled_from(["prompt_tokens", "total_tokens"]), _ANY),
        "choices": st.lists(
            st.fixed_dictionaries(
                {"text": st.just("ab")},
                optional={
                    "index": _ANY,
                    "finish_reason": _ANY,
                    "arrived": st.lists(_ANY, max_size=2),
                    "logprobs": st.fixed_dictionaries(
                        {"tokens": st.just(["a", "b"])},
                        optional={
                            "token_logprobs": st.lists(_ANY, min_size=2, max_size=2),
                            "top_logprobs": st.lists(
                                st.dictionaries(st.text(), _ANY), min_size=2, max_size=2
                            ),
                        },
                    ),
                },
            ),
            max_size=2,
        ),
    },
)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(_LINES)
@example({"started": "2024-01-01T00:00:00+01:02:03"})
@example({"started": "1970-01-01T00:00:00+23:59"})
@example({"created": True})
def test_any_line_is_refused_or_makes_a_session_that_opens(line: dict[str, object]) -> None:
    try:
        (run,) = runs_from_json_lines(json.dumps(line), "a.jsonl")
    except StorageError:
        return
    (again,) = parse_session(f"format = 1\n{run_to_toml(run)}".encode(), Path("s.toml")).session.runs
    assert run_to_toml(again) == run_to_toml(run)


def test_the_name_of_a_header_is_never_run_by_the_shell() -> None:
    command = to_curl({"prompt": "Hi"}, "http://h/v1/completions", key_header="X-`touch$IFS$0`")
    printing = command.replace("curl", "printf '%s|'", 1)
    run = subprocess.run(["sh", "-c", printing], capture_output=True, check=True)
    assert b"|X-`touch$IFS$0`: |" in run.stdout
