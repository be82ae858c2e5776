"""The workbench on a scripted endpoint, without a terminal."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from textual.pilot import Pilot

from tests.client.loopback import DONE, Handler, Loopback, event, serving
from workbench.domain.parameters import Parameters
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.table import BY_ID
from workbench.workspace.services import Services

_PATIENCE = 60.0
"""Seconds after which a condition is taken never to come true, on however busy a machine."""
FOUR_PRESETS = ("space", "down", "down", *("space", "down") * 2, "space")
"""Keys that choose the first four presets, and no longer the current settings, where a comparison begins."""
SIZES = [(80, 24), (120, 40), (200, 50)]


def logprob_event(text: str, logprob: float = -0.7, finish_reason: str | None = None) -> bytes:
    """One event of a stream: a token with itself and two alternatives."""
    choice = {
        "index": 0,
        "text": text,
        "finish_reason": finish_reason,
        "logprobs": {
            "tokens": [text],
            "token_logprobs": [logprob],
            "top_logprobs": [{text: logprob, " other": -1.5, " third": -2.5}],
            "text_offset": [0],
        },
    }
    return f"data: {json.dumps({'id': 'r', 'model': 'scripted', 'choices': [choice]})}\n\n".encode()


def answer(*texts: str) -> bytes:
    """A whole stream of tokens."""
    last = len(texts) - 1
    events = [
        logprob_event(text, finish_reason="stop" if index == last else None)
        for index, text in enumerate(texts)
    ]
    return b"".join(events) + DONE


@asynccontextmanager
async def workbench(
    handler: Handler, size: tuple[int, int] = (120, 40)
) -> AsyncGenerator[tuple[WorkbenchApp, Pilot[int], Loopback]]:
    """The workbench, whose draft is sent to a loopback server."""
    async with serving(handler) as loopback:
        services = Services.open(dict(os.environ), loopback.base_url)
        app = WorkbenchApp(services)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app._keys._has_begun and app.main.focused is not None)
            yield app, pilot, loopback
            await app.leave()


async def do(app: WorkbenchApp, id: str) -> None:
    """Do a command by its name, to its end."""
    await app.flows.start(BY_ID[id].flow).wait()


def use_parameters(app: WorkbenchApp, parameters: Parameters) -> None:
    """Have other parameters in the draft."""
    app.workspace.drafting.use(app.workspace.drafting.draft._replace(parameters=parameters))


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    """Wait for a condition, and for what the screen has still to do then; fails where it never comes true."""
    deadline = monotonic() + _PATIENCE
    while not condition():
        assert monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.005)
    await pilot.pause(0)


__all__ = ["SIZES", "answer", "do", "event", "logprob_event", "until", "use_parameters", "workbench"]
