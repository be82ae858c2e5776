"""Forward input one event at a time; the next one waits until the screen is ready for it.

Over SSH, keys arrive in bursts. Textual sends all of them to the widget that has the focus on arrival,
although the first may move the focus or open a screen.
"""

from __future__ import annotations

import asyncio
from collections import deque

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

from workbench.tui.flows import Flows

_MOST_SECONDS = 1.0
"""The most seconds that a key delays the next one, so that a hanging flow does not block the keyboard."""


class KeyQueue:
    """Holds input events back until the event before has been handled."""

    def __init__(self, app: App[int], flows: Flows) -> None:
        self._app = app
        self._flows = flows
        self._waiting: deque[events.Event] = deque()
        self._due: events.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._has_begun = False

    def begin(self) -> None:
        """Forward the events held back so far, and start forwarding."""
        self._has_begun = True
        self._task = asyncio.create_task(self._forward())

    def admits(self, event: events.Event) -> bool:
        """Return whether to handle an event now; otherwise it is posted to the application again later."""
        if event is self._due:
            return True
        is_idle = self._has_begun and (self._task is None or self._task.done())
        is_free = is_idle and not self._flows.is_opening()
        if not is_free:
            self._waiting.append(event)
        if is_idle and not isinstance(event, events.MouseMove):
            self._task = asyncio.create_task(self._forward(self._target))
        return is_free

    @property
    def _target(self) -> MessagePump:
        return self._app.focused or self._app.screen

    async def _forward(self, target: MessagePump | None = None) -> None:
        """Wait until `target` has handled its event, then forward the waiting events."""
        if target is not None:
            await self._settle(target)
        while self._waiting:
            self._due = self._waiting.popleft()
            target = self._target
            self._app.post_message(self._due)
            if not isinstance(self._due, events.MouseMove):
                await self._settle(target)

    async def _settle(self, target: MessagePump) -> None:
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                # The event goes to the target, and from there through each parent to the application.
                await _handled(self._app)
                node: MessagePump | None = target
                while node is not None:
                    await _handled(node)
                    node = node._parent
                while self._flows.is_opening():
                    self._flows.changed.clear()
                    await self._flows.changed.wait()
                # A screen that has just opened sets the focus later.
                await _handled(self._app.screen)
                await _handled(self._app)
        except TimeoutError:
            self._flows.release()


async def _handled(node: MessagePump) -> None:
    """Wait until a node has handled its current messages."""
    done = asyncio.Event()
    if node.is_running and node.call_later(done.set):
        await done.wait()
