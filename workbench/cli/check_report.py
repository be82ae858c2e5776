"""What `workbench check` found, for people, as JSON, and as JUnit XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from workbench.cli.tables import distribution
from workbench.domain.agreement import Agreement, Sum
from workbench.domain.case_comparison import CaseResult, CaseVerdict, Difference, ReportedToken
from workbench.domain.display import figure, one_line, plural, visible
from workbench.domain.json_values import JsonValue
from workbench.storage.files import write_atomically

_SHOWN = (CaseVerdict.DIFFERS, CaseVerdict.NOISY, CaseVerdict.FAILED)
_MOST_SHOWN = 50
"""Cases of a kind that are printed in full."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def print_report(results: Sequence[CaseResult], count: int, *, is_given_up: bool) -> None:
    """Print what changed, from which token on, and the figures of all cases."""
    for verdict in _SHOWN:
        some = [one for one in results if one.verdict is verdict]
        for one in some[:_MOST_SHOWN]:
            print(visible("\n".join(_lines(one))))
        if len(some) > _MOST_SHOWN:
            print(f"… and {plural(len(some) - _MOST_SHOWN, 'more case')} {verdict}")
    verdicts = Counter(one.verdict for one in results)
    counts = ", ".join(f"{verdicts[one]:,} {one}" for one in CaseVerdict if verdicts[one])
    print(f"{plural(len(results), 'case')}: {counts or 'none checked'}")
    if len(results) < count:
        why = "the endpoint failed too often in a row" if is_given_up else "stopped"
        print(f"{plural(count - len(results), 'case')} not checked: {why}")
    for line in _figures(sum((one.agreement for one in results), Agreement())):
        print(f"  {line}")
    reasons = Counter("; ".join(one.why) for one in results if one.verdict is CaseVerdict.SKIPPED)
    for reason, skipped in reasons.items():
        print(visible(f"  skipped {skipped:,}: {reason}"))


def _lines(result: CaseResult) -> list[str]:
    """What came of one case, as a report has it."""
    named = f" {one_line(result.name, 60)}" if result.name else ""
    often = f" {result.differing} of {result.repeats}" if result.repeats > 1 else ""
    lines = [f"{result.verdict.upper()}{often}  {result.file}#{result.run[:8]}{named}"]
    lines += [f"  {one_line(why)}" for why in result.why]
    if result.difference is not None:
        lines += _compared(result.difference)
    if result.agreement.positions:
        lines += [f"  {line}" for line in _figures(result.agreement)]
    return lines


def _compared(found: Difference) -> list[str]:
    choice = f" of choice {found.choice}" if found.choice else ""
    return [
        f"  at token {found.token + 1}{choice}:",
        f"    recorded  {distribution(found.recorded)}",
        f"    now       {distribution(found.now)}",
    ]


def _figures(found: Agreement) -> list[str]:
    """The figures of some positions in a person's words."""
    if not found.positions:
        return []
    top, overlap = (figure(one.mean, ".2%") for one in (found.same_top, found.overlap))
    difference, kl = found.logprob_difference, found.divergence
    return [
        f"{plural(found.positions, 'position')} compared · top-1 agreement {top} · overlap of the listed "
        f"alternatives {overlap}",
        f"|Δlogprob| mean {_mean(difference)}, largest {_largest(difference)} nats · KL(recorded ‖ now) mean "
        f"{_mean(kl)}, largest {_largest(kl)} nats (listed in both, remaining mass as one outcome)",
    ]


def _mean(found: Sum) -> str:
    return figure(found.mean, ".4g")


def _largest(found: Sum) -> str:
    return figure(found.largest if found.count else None, ".4g")


def report_to_json(
    results: Sequence[CaseResult], count: int, settings: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """The whole report as JSON; logprobs and divergences in nats."""
    verdicts = Counter(one.verdict for one in results)
    return {
        **settings,
        "cases": count,
        "verdicts": {one.value: verdicts[one] for one in CaseVerdict},
        "figures": _figures_to_json(sum((one.agreement for one in results), Agreement())),
        "results": [_result_to_json(one) for one in results],
    }


def _result_to_json(result: CaseResult) -> JsonValue:
    found = result.difference
    return {
        "file": result.file,
        "run": result.run,
        "name": result.name or None,
        "verdict": result.verdict.value,
        "repeats": result.repeats,
        "differing": result.differing,
        "why": list(result.why),
        "figures": _figures_to_json(result.agreement),
        "difference": None
        if found is None
        else {
            "choice": found.choice,
            "token": found.token,
            "recorded": _distribution_to_json(found.recorded),
            "now": _distribution_to_json(found.now),
        },
    }


def _distribution_to_json(found: ReportedToken) -> JsonValue:
    listed: list[JsonValue] = [{"text": text, "logprob": logprob} for text, logprob in found.alternatives]
    return {"text": found.token, "logprob": found.logprob, "alternatives": listed}


def _figures_to_json(found: Agreement) -> JsonValue:
    return {
        "positions": found.positions,
        "top1_agreement": found.same_top.mean,
        "overlap": found.overlap.mean,
        "logprob_difference_mean": found.logprob_difference.mean,
        "logprob_difference_max": found.logprob_difference.largest
        if found.logprob_difference.count
        else None,
        "kl_mean": found.divergence.mean,
        "kl_max": found.divergence.largest if found.divergence.count else None,
    }


def write_junit(path: Path, results: Sequence[CaseResult]) -> None:
    """Write JUnit XML: a suite for each session file, a test case for each run. Raises StorageError."""
    root = ElementTree.Element("testsuites", name="workbench check")
    by_file: dict[str, list[CaseResult]] = {}
    for one in results:
        by_file.setdefault(one.file, []).append(one)
    for file, some in by_file.items():
        verdicts = Counter(one.verdict for one in some)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(file),
            tests=str(len(some)),
            failures=str(verdicts[CaseVerdict.DIFFERS]),
            errors=str(verdicts[CaseVerdict.FAILED]),
            skipped=str(verdicts[CaseVerdict.SKIPPED]),
        )
        for one in some:
            entry = ElementTree.SubElement(
                suite, "testcase", classname=_xml(file), name=_xml(one.name or one.run)
            )
            text, message = _xml("\n".join(_lines(one))), _xml("; ".join(one.why))
            match one.verdict:
                case CaseVerdict.DIFFERS:
                    ElementTree.SubElement(entry, "failure", message=message).text = text
                case CaseVerdict.FAILED:
                    ElementTree.SubElement(entry, "error", message=message).text = text
                case CaseVerdict.SKIPPED:
                    ElementTree.SubElement(entry, "skipped", message=message)
                case CaseVerdict.NOISY:
                    ElementTree.SubElement(entry, "system-out").text = text
    write_atomically(path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", visible(text))
