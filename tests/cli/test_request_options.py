"""Every field of the parameter table is an option, and a bad one is named with its range."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest

from workbench.cli.request_options import (
    add_parameter_options,
    add_prompt_options,
    option_of,
    read_parameters,
    read_prompt,
)
from workbench.domain.errors import BadValueError
from workbench.domain.parameter_table import PARAMETERS, Kind, Range
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt


def parse(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_prompt_options(parser)
    add_parameter_options(parser)
    return parser.parse_args(argv)


def parameters_of(*argv: str) -> Parameters:
    parameters, problems = read_parameters(parse(*argv), {}, lenient=False)
    assert problems == []
    return parameters


@pytest.mark.parametrize("field", PARAMETERS, ids=lambda field: field.name)
def test_every_field_has_an_option(field: object) -> None:
    options = parse()
    name = getattr(field, "name", "")
    assert getattr(options, name) is None


def test_options_become_values() -> None:
    parameters = parameters_of(
        *("--temperature", "0.5", "--top-k", "40", "--stop", "\n", "--stop", "[1]"),
        *("--logit-bias", "12=-100", "--logit-bias", "7=2.5", "--no-stream", "--extra", 'grammar="x"'),
    )
    assert parameters.to_json() == {
        "temperature": 0.5,
        "top_k": 40,
        "stop": ["\n", "[1]"],
        "logit_bias": {"12": -100, "7": 2.5},
        "stream": False,
    }
    assert parameters.extra == {"grammar": "x"}


def test_what_is_not_given_is_unset() -> None:
    assert parameters_of().to_json() == {}


def test_a_negative_number_is_a_value_not_an_option() -> None:
    assert parameters_of("--frequency-penalty", "-0.5").get("frequency_penalty") == -0.5


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--temperature", "3"], "--temperature: temperature must be between 0 and 2 (got 3)"),
        (["--temperature", "hot"], "--temperature: 'hot' is not a number (allowed: between 0 and 2)"),
        (["--top-p", "0"], "--top-p: top_p must be above 0 and at most 1 (got 0)"),
        (
            ["--max-tokens", "1.5"],
            "--max-tokens: '1.5' is not a whole number (allowed: between 1 and 2147483647)",
        ),
        (["--seed", str(2**63)], "--seed: seed must be"),
        (["--logit-bias", "x=1"], "--logit-bias: 'x' is not a token id (allowed: between -100 and 100)"),
        (["--stop", ""], "--stop: stop must not hold an empty text"),
        (["--stop", "a", "--stop", "b", "--stop", "c", "--stop", "d", "--stop", "e"], "at most 4"),
        (["--best-of", "1", "--n", "2"], "--best-of: best_of must be at least n, 2 (got 1)"),
        (["--extra", "x"], "--extra x: is not KEY=JSON"),
        (["--extra", "x=NaN"], "NaN is not JSON"),
        (["--extra", "x=[1e999]"], "1e999 is too large"),
    ],
)
def test_a_bad_argument_is_named_with_its_range(argv: list[str], message: str) -> None:
    _, problems = read_parameters(parse(*argv), {}, lenient=False)
    assert len(problems) == 1
    assert message in problems[0]


def test_all_bad_arguments_are_named_at_once() -> None:
    _, problems = read_parameters(parse("--temperature", "9", "--top-k", "0", "--n", "x"), {}, lenient=False)
    assert sorted(problem.partition(":")[0] for problem in problems) == ["--n", "--temperature", "--top-k"]


def test_an_endpoints_own_limits_hold() -> None:
    assert read_parameters(parse("--logprobs", "20"), {"logprobs": Range(0, 20)}, lenient=False)[1] == []
    assert read_parameters(parse("--logprobs", "30"), {}, lenient=True)[1] == []


def test_several_prompts_are_a_list() -> None:
    assert read_prompt(parse("--prompt", "a", "--prompt", "b")) == TextsPrompt(("a", "b"))
    assert read_prompt(parse("--prompt", "a")) == TextPrompt("a")


def test_token_ids_are_prompts_too() -> None:
    assert read_prompt(parse("--prompt-ids", "1, 2,3")) == TokensPrompt((1, 2, 3))
    assert read_prompt(parse("--prompt-ids", "1", "--prompt-ids", "[2 3]")) == TokenListsPrompt(
        ((1,), (2, 3))
    )


def test_a_file_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "prompt"
    path.write_bytes("a\r\nb\r \u2028\f".encode())
    assert read_prompt(parse("--prompt-file", str(path))) == TextPrompt("a\r\nb\r \u2028\f")


def test_standard_input_is_read_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\r\n")))
    assert read_prompt(parse("--prompt-file", "-")) == TextPrompt("a\r\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "no prompt given"),
        (["--prompt", "a", "--prompt-ids", "1"], "cannot be mixed"),
        (["--prompt-file", "/nowhere/at/all"], "No such file"),
        (["--prompt-ids", "one"], "'one' is not a token id"),
    ],
)
def test_a_prompt_that_cannot_be_is_named(argv: list[str], message: str) -> None:
    with pytest.raises(BadValueError) as caught:
        read_prompt(parse(*argv))
    assert message in str(caught.value)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"ab\xff")
    with pytest.raises(BadValueError, match="binary is not UTF-8"):
        read_prompt(parse("--prompt-file", str(path)))


def test_options_are_spelt_with_hyphens() -> None:
    assert {option_of(field) for field in PARAMETERS if field.kind is Kind.SWITCH} == {
        "--stream",
        "--include-usage",
    }
