"""Hypothesis strategies for whole sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf

from hypothesis import strategies as st

from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.conversation import Chat, Prefixes, Turn, Turns, WhenFull
from workbench.domain.json_values import JsonValue
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import PromptKind, TextPrompt, TextsPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Failure, Outcome, Parent, Run, Usage
from workbench.domain.session import Draft, Session
from workbench.storage.journal import Increment, Increments

_NASTY = [
    "\x00",
    "\r\n",
    "\u2028",
    "\x85",
    "'''",
    '"""',
    "\\",
    "\x7f",
    "[[runs]]\n",
    "\n[[runs]]\n",
    "\x1b[31m",
    "",
]
texts = st.one_of(
    st.text(max_size=12), st.sampled_from(_NASTY), st.lists(st.sampled_from(_NASTY)).map("".join)
)
logprobs = st.one_of(st.none(), st.floats(max_value=0, allow_nan=False), st.just(-inf))
ids = st.one_of(st.none(), st.integers(0, 2**62))
raws = st.one_of(st.none(), st.binary(min_size=1, max_size=4))
alternatives = st.builds(Alternative, texts, logprobs, ids, raws)
pieces = st.builds(ReceivedToken, texts, logprobs, st.lists(alternatives, max_size=3), ids, raws)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
_ids = st.lists(st.integers(0, 10**6), min_size=1, max_size=4).map(tuple)
prompts = st.one_of(
    texts.map(TextPrompt),
    st.lists(texts, min_size=1, max_size=3).map(lambda some: TextsPrompt(tuple(some))),
    _ids.map(TokensPrompt),
    st.lists(_ids, min_size=1, max_size=3).map(lambda some: TokenListsPrompt(tuple(some))),
)
_values = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "seed": st.integers(-(2**63), 2**63 - 1),
        "max_tokens": st.integers(1, 99),
        "stop": st.lists(texts, min_size=1, max_size=2).map(tuple),
        "logit_bias": st.dictionaries(st.integers(0, 99).map(str), st.floats(-9, 9), min_size=1, max_size=2),
        "stream": st.booleans(),
    },
)
parameters = st.builds(Parameters, _values, st.dictionaries(texts, json_values, max_size=3))
unknown = st.dictionaries(
    st.text(min_size=1, max_size=9).map("x-".__add__), st.integers() | texts, max_size=2
)


@st.composite
def choices(draw: st.DrawFn, index: int) -> Choice:
    choice = Choice(index)
    for number, token in enumerate(draw(st.lists(pieces, max_size=4)), 1):
        choice.append(token, number / 8)
    choice.finish_reason = draw(st.none() | texts)
    choice.echoed = draw(st.integers(0, len(choice)))
    return choice


@st.composite
def runs(draw: st.DrawFn) -> Run:
    request = Request(draw(prompts), draw(texts), draw(parameters))
    run = Run(request, draw(texts), started=draw(moments), sent=request.body())
    for index in range(draw(st.integers(0, 2))):
        run.choices[index] = draw(choices(index))
    run.model, run.response_id, run.preset = draw(texts), draw(texts), draw(texts)
    run.created, run.total = draw(st.none() | st.integers()), draw(st.none() | st.floats(0, 1e9))
    run.outcome = draw(st.sampled_from(Outcome))
    run.usage = draw(st.none() | st.builds(Usage, *[st.integers(0, 2**80)] * 3))
    run.error = draw(st.none() | st.builds(Failure, texts, texts, texts, st.none() | st.integers(), texts))
    run.parent = draw(
        st.none() | st.builds(Parent, texts, st.integers(0), st.integers(0), texts, st.just("continue"))
    )
    run.notes, run.tags = draw(st.lists(texts, max_size=2)), tuple(draw(st.lists(texts, max_size=2)))
    run.added = tuple(draw(st.lists(texts, max_size=2)))
    run.group, run.name, run.turn = draw(texts), draw(texts), draw(texts)
    run.raw_logprobs = draw(st.none() | st.booleans())
    run.other = draw(unknown)
    return run


drafts = st.builds(Draft, texts, texts, texts, texts, st.sampled_from(PromptKind), parameters, texts, unknown)
turns = st.builds(
    Turn, texts, texts, run=texts.filter(bool), choice=st.integers(0), parent=texts, other=unknown
)
chats = st.builds(
    Chat,
    st.builds(lambda all: Turns(all, all[-1].id if all else ""), st.lists(turns, max_size=2).map(tuple)),
    st.none() | texts,
    texts,
    st.builds(Prefixes, texts, texts, texts, texts),
    st.sampled_from(WhenFull),
    st.none() | st.integers(1),
    unknown,
)
sessions = st.builds(
    Session,
    title=texts,
    created=moments,
    tags=st.lists(texts, max_size=2).map(tuple),
    draft=drafts,
    runs=st.lists(runs(), max_size=2),
    chat=chats,
    variables=st.dictionaries(texts, texts, max_size=2),
    other=unknown,
)


def essence(run: Run) -> tuple[object, ...]:
    """Everything of a run that can be compared with `==`."""
    tables = tuple(
        (choice.index, choice.finish_reason, choice.echoed, choice.text, tuple(choice))
        for choice in run.ordered
    )
    names = ("request", "endpoint", "id", "started", "sent", "model", "response_id", "created", "outcome")
    more = ("usage", "total", "error", "notes", "preset", "parent", "group", "name", "tags", "added", "turn")
    return (tables, *(getattr(run, name) for name in (*names, *more, "raw_logprobs", "other")))


def received(increments: Increments) -> Increment:
    """What a run received, which is something."""
    found = increments.take()
    assert found is not None
    return found
