"""The recorded answers of real servers, and an answer put together without a network."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.client.error_responses import ErrorResponse, error_of
from workbench.client.events import End, Error, Event
from workbench.client.response_body import ResponseBody
from workbench.client.urls import normalise
from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run, Usage
from workbench.runner.execution import Recorder

CASES = Path(__file__).resolve().parents[1] / "cases"
_BASE = "http://127.0.0.1:1/v1"


@dataclass(frozen=True, slots=True)
class Case:
    """A body, and what must come of it; None where it is not pinned."""

    name: str
    body: bytes
    status: int = 200
    content_type: str = "text/event-stream"
    outcome: str | None = None
    texts: list[str] | None = None
    finish_reasons: list[str] | None = None
    entries: list[int] | None = None
    usage: Usage | None = None
    error: str | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def is_stream(self) -> bool:
        """Whether the body is made of events."""
        return self.status == 200 and not self.body.lstrip().startswith((b"{", b"<"))


def wire_cases() -> list[Case]:
    """The bodies with one oddity each."""
    table = tomllib.loads((CASES / "wire" / "cases.toml").read_text("utf-8"))
    return [
        Case(
            entry["name"],
            (CASES / "wire" / f"{entry['name']}.response").read_bytes(),
            entry["status"],
            entry["content_type"],
            entry["outcome"],
            entry.get("texts"),
            entry.get("finish_reasons"),
        )
        for entry in table["case"]
    ]


def recordings() -> list[Case]:
    """The bodies recorded from whole servers."""
    table = tomllib.loads((CASES / "recorded" / "recordings.toml").read_text("utf-8"))
    return [
        Case(
            entry["name"],
            (CASES / "recorded" / f"{entry['name']}.response").read_bytes(),
            400 if "error" in entry else 200,
            "text/event-stream" if entry["streamed"] else "application/json",
            "error" if "error" in entry else "complete",
            entry.get("texts"),
            entry.get("finish_reasons"),
            entry.get("logprob_entries"),
            Usage(**entry["usage"]) if "usage" in entry else None,
            entry.get("error"),
        )
        for entry in table["recording"]
    ]


def cut(body: bytes, size: int) -> Iterator[bytes]:
    """A body in pieces of a size."""
    return (body[start : start + size] for start in range(0, len(body), size))


def answer_events(pieces: Iterable[bytes], status: int = 200) -> Iterator[Event]:
    """The events of an answer, as the client tells them, without a network."""
    if status != 200:
        answer = ErrorResponse(status, "", {}, b"".join(pieces))
        yield Error(error_of(answer, normalise(_BASE), f"{_BASE}/completions", str))
        yield End()
        return
    assembly = ResponseBody()
    for chunk in pieces:
        yield from assembly.feed(chunk)
    yield from assembly.finish()
    yield End()


def run_of(events: Iterable[Event], request: Request | None = None) -> Run:
    """The run that events make."""
    run = Run(request or Request(TextPrompt("x")))
    recorder = Recorder(run, Endpoint("test", _BASE), run.choice)
    for index, event in enumerate(events):
        recorder.take(event, float(index))
    return run


def texts(run: Run) -> list[str]:
    """The texts by index."""
    return [choice.text for choice in run.ordered]


def reasons(run: Run) -> list[str]:
    """The finish reasons by index, empty where there is none."""
    return [choice.finish_reason or "" for choice in run.ordered]


def shape(run: Run) -> object:
    """Everything of a run but its times, to compare."""
    return (
        run.outcome,
        run.usage,
        run.error,
        run.notes,
        run.model,
        [
            (
                choice.index,
                choice.finish_reason,
                [(t.text, t.logprob, t.id, t.raw, t.alternatives) for t in choice],
            )
            for choice in run.ordered
        ],
    )
