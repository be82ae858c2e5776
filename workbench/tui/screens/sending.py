"""What is asked before a request goes out: whether to send several instead, and whether its cost is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.app import App

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.request import Request
from workbench.domain.splitting import Split, parts_of
from workbench.runner.splitting import Habits, SplitOffer, offer_split
from workbench.tui.screens.question import Question


@dataclass(frozen=True, slots=True)
class Sending:
    """A request on its way out, and what decides about questions."""

    endpoint: Endpoint
    request: Request
    habits: Habits
    confirm_above: int
    """Tokens that may be billed unasked; 0 never asks."""


def ask_and_send(
    app: App[int],
    sending: Sending,
    send: Callable[[Split | None], None],
    attempt: Callable[[Callable[[], object]], None],
) -> None:
    """Send a request, after asking where there is something to ask.

    `attempt` runs what may raise BadValueError once the question is answered. Raises BadValueError where a
    value is not allowed, before anything is asked.
    """
    offer = offer_split(sending.endpoint, sending.request, sending.habits)
    if offer is not None:
        _offer(app, sending, offer, send, attempt)
    else:
        _confirm(app, sending, lambda: send(None))


def _offer(
    app: App[int],
    sending: Sending,
    offer: SplitOffer,
    send: Callable[[Split | None], None],
    attempt: Callable[[Callable[[], object]], None],
) -> None:
    _check(sending.endpoint, parts_of(sending.request, offer.split)[0].request)

    def answered(yes: bool | None) -> None:
        if yes:
            send(offer.split)
        elif yes is not None:
            attempt(lambda: _confirm(app, sending, lambda: send(None)))

    words = (
        f"{one_line(sending.endpoint.name, 40)} may not answer this in one request: {offer.reason}.\n"
        f"{offer.requests} requests can be sent instead and shown as one run. {offer.cost}"
    )
    if _is_dear(sending):
        words = f"{words}\n{_cost(sending.request)}"
    app.push_screen(Question(words, f"send {offer.requests} requests", "send one as it is"), answered)


def _confirm(app: App[int], sending: Sending, send: Callable[[], None]) -> None:
    _check(sending.endpoint, sending.request)
    if not _is_dear(sending):
        send()
        return

    def answered(yes: bool | None) -> None:
        if yes:
            send()

    app.push_screen(Question(_cost(sending.request), "send", "do not send"), answered)


def _check(endpoint: Endpoint, request: Request) -> None:
    if not endpoint.lenient:
        for problem in request.parameters.problems(endpoint.limits):
            raise problem


def _is_dear(sending: Sending) -> bool:
    return 0 < sending.confirm_above < sending.request.billed_tokens


def _cost(request: Request) -> str:
    return f"This may generate and bill up to {request.billed_tokens:,} tokens."
