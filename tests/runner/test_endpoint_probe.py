"""Probing endpoints: what they honour, ignore and refuse, with evidence, and at a cost that is told."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime

import msgspec
import pytest

from tests.runner.toy_endpoint import Toy
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import EndpointError
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.runner.connections import Connections
from workbench.runner.endpoint_probe import MOST_REQUESTS, MOST_TOKENS, Probing
from workbench.storage.files import Folders
from workbench.storage.probes import load_probe, probe_file, probe_from_table, save_probe

EVERYTHING = {
    "stream",
    "stream = off",
    "max_tokens",
    "include_usage",
    "greedy repeats",
    "temperature",
    "seed",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "stop",
    "stop text included",
    "logit_bias",
    "logprobs",
    "logprobs = 20",
    "raw logprobs",
    "n",
    "best_of",
    "echo",
    "two prompts",
    "token ids",
    "lists of token ids",
}


async def whole(probing: Probing) -> Probe:
    await probing.run()
    return probing.found


async def probed(toy: Toy, drop: frozenset[str] = frozenset()) -> Probe:
    connections = Connections({})
    try:
        async with toy.serve() as url:
            return await whole(Probing(connections, Endpoint("toy", url, drop=drop)))
    finally:
        await connections.aclose()


def by_verdict(found: Probe, verdict: ProbeVerdict) -> set[str]:
    return {finding.name for finding in found.findings if finding.verdict is verdict}


async def test_an_endpoint_that_honours_everything_is_found_to() -> None:
    found = await probed(Toy())
    assert {finding.name for finding in found.findings} == EVERYTHING
    assert by_verdict(found, ProbeVerdict.HONOURED) >= EVERYTHING - {"stream"}
    assert found.model == "toy"


async def test_what_is_ignored_is_found_to_have_no_effect() -> None:
    ignored = frozenset({"top_k", "min_p", "repetition_penalty", "echo", "n", "logit_bias", "stop"})
    found = await probed(Toy(ignored=ignored))
    assert by_verdict(found, ProbeVerdict.NO_EFFECT) == ignored


async def test_what_is_refused_is_found_with_the_endpoints_own_words() -> None:
    found = await probed(Toy(refused=frozenset({"best_of", "arrays"})))
    assert by_verdict(found, ProbeVerdict.REFUSED) == {
        "best_of",
        "two prompts",
        "token ids",
        "lists of token ids",
    }
    evidence = next(finding.evidence for finding in found.findings if finding.name == "best_of")
    assert "400" in evidence
    assert "best_of is not supported" in evidence


async def test_a_field_that_the_profile_leaves_out_is_asked_about_too() -> None:
    found = await probed(Toy(), drop=frozenset({"top_k"}))
    assert found.verdict("top_k") is ProbeVerdict.HONOURED


async def test_a_seed_that_is_ignored_does_not_repeat() -> None:
    found = await probed(Toy(ignored=frozenset({"seed"})))
    assert found.verdict("seed") is ProbeVerdict.NO_EFFECT


async def test_logprobs_after_sampling_and_a_stop_text_cut_off_are_told_apart() -> None:
    found = await probed(Toy(raw_logprobs=False, keeps_stop=False))
    assert found.verdict("raw logprobs") is ProbeVerdict.NO_EFFECT
    assert found.verdict("stop text included") is ProbeVerdict.NO_EFFECT
    assert found.verdict("stop") is ProbeVerdict.HONOURED


async def test_missing_logprobs_are_told_and_rawness_is_unknown_then() -> None:
    found = await probed(Toy(ignored=frozenset({"logprobs"})))
    assert found.verdict("logprobs") is ProbeVerdict.NO_EFFECT
    assert found.verdict("raw logprobs") is ProbeVerdict.UNKNOWN


async def test_every_request_is_told_before_it_goes_out_and_all_are_tiny() -> None:
    toy = Toy()
    announced: list[tuple[int, int]] = []
    connections = Connections({})
    async with toy.serve() as url:
        probing = Probing(
            connections,
            Endpoint("toy", url),
            on_request=lambda number, purpose: announced.append((number, len(toy.bodies))),
        )
        found = await whole(probing)
    await connections.aclose()
    assert announced == [(number, number - 1) for number in range(1, found.requests + 1)]
    assert len(toy.bodies) == found.requests <= MOST_REQUESTS
    assert all(body["max_tokens"] <= MOST_TOKENS for body in toy.bodies)
    biases = [bias for body in toy.bodies for bias in body.get("logit_bias", {}).values()]
    assert biases
    assert all(type(bias) is int for bias in biases), "the contract knows whole biases only"


async def test_an_endpoint_that_answers_nothing_is_an_error_after_one_request() -> None:
    toy = Toy(status=401)
    with pytest.raises(EndpointError) as caught:
        await probed(toy)
    assert caught.value.status == 401
    assert len(toy.bodies) == 1


async def test_what_a_stopped_probe_found_stands_beside_what_was_known_before() -> None:
    older, finding = FOUND, Finding("n", ProbeVerdict.REFUSED, "no")
    newer = replace(FOUND, findings=(finding,), is_partial=True)
    assert newer.over(older).findings == (finding, *older.findings)
    assert newer.over(replace(older, model="another")) == newer
    assert newer.over(None) == newer
    assert replace(newer, is_partial=False).over(older).findings == (finding,)
    assert probe_from_table(newer.to_json()) == newer


FOUND = Probe(
    "https://host/v1",
    "m",
    datetime.fromisoformat("2026-01-02T03:04:05+00:00"),
    2,
    (
        Finding("top_k", ProbeVerdict.HONOURED, "leaves only the likeliest"),
        Finding("stop", ProbeVerdict.REFUSED, "\x1b[2J[/x] 400"),
    ),
)


def test_a_probe_is_kept_and_found_again_also_for_a_bare_url() -> None:
    folders = Folders.default(os.environ)
    assert load_probe(folders, FOUND.endpoint) is None
    save_probe(folders, FOUND)
    assert load_probe(folders, FOUND.endpoint) == FOUND
    assert probe_file(folders, "jiekou").name == "jiekou.toml"
    assert probe_file(folders, "../x").parent == probe_file(folders, "jiekou").parent


def test_a_damaged_probe_counts_as_none() -> None:
    folders = Folders.default(os.environ)
    for text in ("findings = 3\n", "x = [\n", 'findings = [{name = "a", verdict = "b", evidence = ""}]\n'):
        path = save_probe(folders, FOUND)
        path.write_text(text)
        assert load_probe(folders, FOUND.endpoint) is None


def test_a_probe_goes_through_json_and_nothing_else_does() -> None:
    assert probe_from_table(FOUND.to_json()) == FOUND
    with pytest.raises(msgspec.ValidationError):
        probe_from_table({"findings": []})


def test_the_table_is_safe_to_print_and_one_line_a_finding() -> None:
    table = FOUND.table()
    assert table.count("\n") == 1
    assert "\x1b" not in table
    assert "\\e[2J[/x] 400" in table
    assert table.startswith("✓ top_k  honoured")
