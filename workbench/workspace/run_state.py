"""The state of a run, as a glyph and a few words."""

from __future__ import annotations

from math import ceil
from typing import Literal, NamedTuple

from workbench.domain.display import one_line
from workbench.domain.figures import (
    bits_per_byte,
    choice_tokens_per_second,
    completion_tokens,
    logprob_ceilings,
    perplexity,
    tokens_per_second,
    unlisted_tokens,
)
from workbench.domain.run import Outcome, Run
from workbench.workspace.activity import Activity

_SHOW_WAITING_FROM = 1.0
"""Seconds of waiting after which the elapsed time is shown."""


class RunState(NamedTuple):
    """A state to show; the tone only repeats the meaning of glyph and word."""

    glyph: str
    word: str
    tone: Literal["muted", "accent", "success", "warning", "error"]

    def __str__(self) -> str:
        return f"{self.glyph} {self.word}"


IDLE = RunState("○", "idle", "muted")


def state_of(run: Run | None, elapsed: float, status: str = "") -> RunState:
    """Return the state of a run, `elapsed` seconds after it was sent.

    `status` describes the wait for the first token (`starting the local model`, `retrying in 2 s`).
    """
    if run is None:
        return IDLE
    match run.outcome:
        case None:
            return _running(run, elapsed, status)
        case Outcome.COMPLETE:
            return RunState("●", "done", "success")
        case Outcome.STOPPED:
            return RunState("■", "stopped", "warning")
        case Outcome.ERROR:
            return RunState("✗", "error", "error")
        case outcome:
            return RunState("◐", outcome.value, "warning")


def state_of_newest(activity: Activity) -> RunState:
    """Return the state of the newest run."""
    if activity.is_queued:
        return state_of(activity.run, 0.0, activity.status.detail)
    if activity.is_retrying:
        # Only the countdown: with the elapsed seconds, two times would be shown.
        return state_of(activity.run, 0.0, _countdown(activity))
    return state_of(activity.run, activity.seconds, activity.status.detail)


def waiting_of(activity: Activity) -> str:
    """Describe why and how long the newest run waits for a retry, and how to cancel; empty if it does not."""
    if not activity.is_retrying:
        return ""
    status, endpoint = activity.status, activity.endpoint
    attempt, most = status.attempt + 1, 0 if endpoint is None else endpoint.retries + 1
    # Refusals while the endpoint accepts other requests do not count.
    when = f"{_countdown(activity)} (attempt {attempt}{f' of {most}' if attempt <= most else ''})"
    return f"◌ {status.detail}\n{when} · Esc cancels"


def _countdown(activity: Activity) -> str:
    left = ceil(activity.seconds_left)
    return f"retrying in {left} s" if left > 0 else "retrying"


def _running(run: Run, elapsed: float, status: str) -> RunState:
    if run.first_token is None:
        word = one_line(status, 40) or "waiting"
        return RunState("◌", f"{word} {elapsed:.1f} s" if elapsed >= _SHOW_WAITING_FROM else word, "accent")
    speed = tokens_per_second(run, elapsed)
    return RunState("▶", "streaming" if speed is None else f"{speed:.0f} tok/s", "success")


def figures_of(run: Run, choice: int | None = None) -> str:
    """Format the figures of a run or of a choice: `done · hit max_tokens · 110 tok · 62 tok/s · ppl 1.6`."""
    choices = [answer for answer in run.ordered if choice is None or answer.index == choice]
    parts = ["…" if run.outcome is None else "done" if run.outcome is Outcome.COMPLETE else run.outcome.value]
    parts += sorted({finish_text(run, answer.finish_reason) for answer in choices if answer.finish_reason})
    count = (
        completion_tokens(run) if choice is None else sum(len(answer) - answer.echoed for answer in choices)
    )
    parts.append(f"{count} tok")
    speed = tokens_per_second(run) if choice is None else choice_tokens_per_second(run.choice(choice))
    if speed is not None:
        parts.append(f"{speed:.0f} tok/s")
    # Not while streaming: computing this over all tokens in every frame would be slow.
    if not run.is_running:
        logprobs = [logprob for answer in choices for logprob in answer.logprobs[answer.echoed :]]
        if (value := perplexity(logprobs)) is not None:
            parts.append(f"ppl {value:.3g}")
        if choices and (prompt := range((answer := choices[0]).echoed)):
            least = "≥ " if unlisted_tokens(answer, prompt) else ""
            if (value := perplexity(logprob_ceilings(answer, prompt))) is not None:
                parts.append(f"prompt ppl {least}{value:.3g}")
            if (bits := bits_per_byte(answer, prompt)) is not None:
                parts.append(f"{least}{bits:.3g} bits/byte")
    return " · ".join(parts)


def finish_text(run: Run, reason: str) -> str:
    """Describe a finish reason; one without a description is shown as received."""
    match reason:
        case "length":
            return "hit max_tokens"
        case "stop":
            parameters = run.request.parameters
            has_stop = bool(parameters.get("stop") or parameters.extra)
            return "end of text or stop sequence" if has_stop else "end of text"
        case _:
            return one_line(reason, 20)
