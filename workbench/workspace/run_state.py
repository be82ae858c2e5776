"""What a run is doing, as one glyph and a few words."""

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
"""Seconds; shorter waits are not worth a word."""


class RunState(NamedTuple):
    """A state to show; the tone only repeats what glyph and word say."""

    glyph: str
    word: str
    tone: Literal["muted", "accent", "success", "warning", "error"]

    def __str__(self) -> str:
        return f"{self.glyph} {self.word}"


IDLE = RunState("○", "idle", "muted")


def state_of(run: Run | None, elapsed: float, status: str = "") -> RunState:
    """The state of the newest run, `elapsed` seconds after it was sent.

    `status` is what is going on before the first token (`starting the local model`, `retrying in 2 s`).
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
    """What the newest run is doing."""
    if activity.is_queued:
        return state_of(activity.run, 0.0, activity.status.detail)
    if activity.is_retrying:
        # A countdown beside the seconds since the first attempt would be two clocks in one place.
        return state_of(activity.run, 0.0, _countdown(activity))
    return state_of(activity.run, activity.seconds, activity.status.detail)


def waiting_of(activity: Activity) -> str:
    """Why the newest run waits to be sent again, how long still, and the way out; else empty."""
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
    """A run's figures, or one choice's: `done · hit max_tokens · 110 tok · 62 tok/s · ppl 1.6`."""
    choices = [one for one in run.ordered if choice is None or one.index == choice]
    parts = ["…" if run.outcome is None else "done" if run.outcome is Outcome.COMPLETE else run.outcome.value]
    parts += sorted({finish_words(run, one.finish_reason) for one in choices if one.finish_reason})
    count = completion_tokens(run) if choice is None else sum(len(one) - one.echoed for one in choices)
    parts.append(f"{count} tok")
    speed = tokens_per_second(run) if choice is None else choice_tokens_per_second(run.choice(choice))
    if speed is not None:
        parts.append(f"{speed:.0f} tok/s")
    # Over all tokens so far, which is too much work for every frame of a long stream.
    if not run.is_running:
        logprobs = [logprob for one in choices for logprob in one.logprobs[one.echoed :]]
        if (value := perplexity(logprobs)) is not None:
            parts.append(f"ppl {value:.3g}")
        for one in choices[:1]:
            prompt = range(one.echoed)
            least = "≥ " if unlisted_tokens(one, prompt) else ""
            if (value := perplexity(logprob_ceilings(one, prompt))) is not None:
                parts.append(f"prompt ppl {least}{value:.3g}")
            if (bits := bits_per_byte(one, prompt)) is not None:
                parts.append(f"{least}{bits:.3g} bits/byte")
    return " · ".join(parts)


def finish_words(run: Run, reason: str) -> str:
    """Why a choice ended, in a person's words where the reason has some; else the endpoint's own."""
    match reason:
        case "length":
            return "hit max_tokens"
        case "stop":
            parameters = run.request.parameters
            has_stop = bool(parameters.get("stop") or parameters.extra)
            return "end of text or stop sequence" if has_stop else "end of text"
        case _:
            return one_line(reason, 20)
