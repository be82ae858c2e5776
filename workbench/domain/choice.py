"""One answer of a run as a growing store of token columns.

Columns rather than objects: at 100,000 tokens with five alternatives an object a token costs several
times the memory, and nobody looks at more than a screenful at once. The texts of the tokens always join
to the text of the choice; what a token is beyond that (bytes that are not text) is kept beside it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from math import isnan, nan
from typing import NamedTuple


class Alternative(NamedTuple):
    """A token the model could have chosen at some place."""

    text: str
    logprob: float | None
    """Nats; None where the endpoint gave no number."""
    id: int | None = None
    raw: bytes | None = None
    """The token's bytes where they are not the UTF-8 of `text`."""


def top_choice(alternatives: Iterable[Alternative]) -> Alternative | None:
    """The likeliest of some alternatives; None where none has a logprob."""
    known = (alternative for alternative in alternatives if alternative.logprob is not None)
    return max(known, key=lambda alternative: alternative.logprob or 0.0, default=None)


class ReceivedToken(NamedTuple):
    """A token as it arrives; the texts of a choice's tokens join to its text."""

    text: str
    """What the token adds to the text; empty where it only begins a character."""
    logprob: float | None = None
    alternatives: Sequence[Alternative] = ()
    id: int | None = None
    raw: bytes | None = None
    """The token's bytes where they are not the UTF-8 of `text`."""


class Rank(NamedTuple):
    """A token's rank by logprob among all that the model could have chosen, from 1."""

    value: int
    """The rank, or the least that it can be."""
    is_exact: bool
    """Whether the alternatives listed reach down to the token; else it may rank anywhere below them."""

    def __str__(self) -> str:
        return f"{self.value}" if self.is_exact else f"> {self.value - 1}"


class Token(NamedTuple):
    """A token of a choice, read from its columns."""

    position: int
    """Its place in the choice, from 0."""
    start: int
    """Offset of the token's text in the choice's text, in characters."""
    text: str
    logprob: float | None
    at: float
    """Seconds from the request to the token's arrival."""
    id: int | None
    raw: bytes | None
    alternatives: tuple[Alternative, ...]
    rank: Rank | None = None
    """None where nothing is known of it."""

    @property
    def listed_at(self) -> int | None:
        """Its place among the alternatives that the endpoint listed, from 0; None where it is not listed.

        Of several with its bytes and no ids, the one whose logprob is nearest.
        """
        mine, own = token_bytes(self.text, self.raw), self.logprob or 0.0
        same = [
            index
            for index, alternative in enumerate(self.alternatives)
            if (
                alternative.id == self.id
                if alternative.id is not None and self.id is not None
                else token_bytes(alternative.text, alternative.raw) == mine
            )
        ]
        return min(same, key=lambda at: abs((self.alternatives[at].logprob or 0.0) - own), default=None)


@dataclass(slots=True)
class Columns:
    """All token columns of a choice, to read and write as a whole; NaN: no logprob, -1: no id."""

    texts: list[str] = field(default_factory=list)
    logprobs: array[float] = field(default_factory=lambda: array("d"))
    at: array[float] = field(default_factory=lambda: array("d"))
    ids: array[int] = field(default_factory=lambda: array("q"))
    """Empty where no token has an id."""
    raws: dict[int, bytes] = field(default_factory=dict)
    """By token index."""
    alternative_counts: array[int] = field(default_factory=lambda: array("I"))
    alternative_texts: list[str] = field(default_factory=list)
    alternative_logprobs: array[float] = field(default_factory=lambda: array("d"))
    alternative_ids: array[int] = field(default_factory=lambda: array("q"))
    """Empty where no alternative has an id."""
    alternative_raws: dict[int, bytes] = field(default_factory=dict)
    """By index into the alternatives of all tokens."""


class Choice:
    """One answer: its tokens, and how it ended."""

    __slots__ = (
        "_alternative_ends",
        "_alternative_entries",
        "_alternative_ids",
        "_alternative_logprobs",
        "_alternative_raws",
        "_entries",
        "_fewest",
        "_ids",
        "_known",
        "_raws",
        "_starts",
        "_text",
        "_vocabulary",
        "at",
        "echoed",
        "finish_reason",
        "index",
        "length",
        "logprobs",
        "revision",
        "top_logprobs",
    )

    def __init__(self, index: int, top_logprobs: int | None = None) -> None:
        self.index = index
        """Its place: prompt_number * n + choice_number."""
        self.top_logprobs = top_logprobs
        """How many of the most likely tokens were requested for each token; None where that is not known."""
        self.finish_reason: str | None = None
        """In the endpoint's own word, once it sent one."""
        self.echoed = 0
        """How many leading tokens repeat the prompt (`echo`)."""
        self.revision = 0
        """Grows when tokens already stored are replaced, so that readers begin again."""
        self._vocabulary: list[str] = []
        self._known: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._entries = array("I")
        self._starts = array("I")
        self.length = 0
        """Characters in the text so far."""
        self.logprobs = array("d")
        """In nats, by token; NaN where there is none. Read-only by agreement, as `at` is."""
        self.at = array("d")
        """Arrival times by token, in seconds since the request."""
        self._ids = array("q")
        self._raws: dict[int, bytes] = {}
        self._alternative_ends = array("I")
        self._alternative_entries = array("I")
        self._alternative_logprobs = array("d")
        self._alternative_ids = array("q")
        self._alternative_raws: dict[int, bytes] = {}
        self._fewest: int | None = None
        self._text: str | None = ""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Token]:
        return map(self.token, range(len(self)))

    def _entry(self, text: str) -> int:
        known = self._known
        entry = known.get(text)
        if entry is None:
            entry = known[text] = len(known)
            self._vocabulary.append(text)
        return entry

    def append(self, token: ReceivedToken, at: float) -> None:
        """Add a token that arrived `at` seconds after the request."""
        # Spelt out rather than divided: this runs for every token that any endpoint sends.
        text, logprob, alternatives, token_id, raw = token
        known, entries = self._known, self._entries
        entry = known.get(text)
        entries.append(self._entry(text) if entry is None else entry)
        self._starts.append(self.length)
        self.length += len(text)
        self._text = None
        self.logprobs.append(nan if logprob is None else logprob)
        self.at.append(at)
        if token_id is not None or self._ids:
            _put(self._ids, len(entries) - 1, token_id)
        if raw is not None:
            self._raws[len(entries) - 1] = raw
        if alternatives:
            others, logprobs = self._alternative_entries, self._alternative_logprobs
            if self._fewest is None or len(alternatives) < self._fewest:
                self._fewest = len(alternatives)
            for other, its_logprob, its_id, its_raw in alternatives:
                entry = known.get(other)
                others.append(self._entry(other) if entry is None else entry)
                logprobs.append(nan if its_logprob is None else its_logprob)
                if its_id is not None or self._alternative_ids:
                    _put(self._alternative_ids, len(others) - 1, its_id)
                if its_raw is not None:
                    self._alternative_raws[len(others) - 1] = its_raw
        self._alternative_ends.append(len(self._alternative_entries))

    def replace(self, tokens: Iterable[ReceivedToken], at: Sequence[float]) -> None:
        """Replace all tokens by those that the endpoint reported afterwards."""
        self._clear()
        self.revision += 1
        for token, when in zip(tokens, at, strict=True):
            self.append(token, when)

    @property
    def text(self) -> str:
        """The whole text so far."""
        if self._text is None:
            vocabulary = self._vocabulary
            self._text = "".join([vocabulary[entry] for entry in self._entries])
        return self._text

    def text_of(self, index: int) -> str:
        """What a token adds to the text."""
        return self._vocabulary[self._entries[index]]

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The texts of some tokens."""
        vocabulary = self._vocabulary
        return [vocabulary[entry] for entry in self._entries[start:stop]]

    def start_of(self, index: int) -> int:
        """Where a token's text begins, in characters."""
        return self._starts[index]

    def token_at(self, offset: int) -> int:
        """The token that a character of the text belongs to: the one that completes it."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def logprob_of(self, index: int) -> float | None:
        """A token's logprob in nats, or None."""
        return _number(self.logprobs[index])

    def raw_of(self, index: int) -> bytes | None:
        """A token's bytes where they are not the UTF-8 of its text."""
        return self._raws.get(index)

    def bytes_of(self, index: int) -> bytes:
        """A token's own bytes."""
        return token_bytes(self.text_of(index), self._raws.get(index))

    def id_of(self, index: int) -> int | None:
        """A token's id where known."""
        return _id(self._ids, index)

    def alternatives_of(self, index: int) -> tuple[Alternative, ...]:
        """The alternatives listed for a token, in the endpoint's order."""
        first, end = self._alternative_ends[index - 1] if index else 0, self._alternative_ends[index]
        texts = map(self._vocabulary.__getitem__, self._alternative_entries[first:end])
        logprobs = map(_number, self._alternative_logprobs[first:end])
        if not self._alternative_ids and not self._alternative_raws:
            return tuple(map(Alternative, texts, logprobs))
        ids = (_id(self._alternative_ids, position) for position in range(first, end))
        raws = map(self._alternative_raws.get, range(first, end))
        return tuple(map(Alternative, texts, logprobs, ids, raws))

    def alternative_logprobs_of(self, index: int) -> Sequence[float]:
        """The logprobs of a token's alternatives alone; NaN where there is none."""
        first = self._alternative_ends[index - 1] if index else 0
        return self._alternative_logprobs[first : self._alternative_ends[index]]

    @property
    def listed_top(self) -> int:
        """How many of the most likely tokens are certainly listed wherever alternatives are.

        An endpoint may list the chosen token beside them, and fewer than were requested.
        """
        counts = (self.top_logprobs, self._fewest)
        return min((count for count in counts if count is not None), default=0)

    def rank_of(self, index: int) -> Rank | None:
        """A token's rank, as far as the listed alternatives tell; None where they tell nothing."""
        logprob, listed = self.logprobs[index], self.alternative_logprobs_of(index)
        if isnan(logprob) or not listed:
            return None
        likelier = sum(1 for other in listed if other > logprob)
        # All listed but one, which may be the chosen token, are the most likely ones in any case.
        is_exact = likelier < max(self.listed_top, len(listed) - 1)
        return Rank(likelier + 1, is_exact) if likelier or is_exact else None

    def received(self, index: int) -> ReceivedToken:
        """A token as it arrived. Raises IndexError beyond the last one."""
        text, logprob = self.text_of(index), _number(self.logprobs[index])
        return ReceivedToken(
            text, logprob, self.alternatives_of(index), self.id_of(index), self._raws.get(index)
        )

    def token(self, index: int) -> Token:
        """Everything known of a token. Raises IndexError beyond the last one."""
        return Token(
            index,
            self._starts[index],
            self.text_of(index),
            self.logprob_of(index),
            self.at[index],
            self.id_of(index),
            self._raws.get(index),
            self.alternatives_of(index),
            self.rank_of(index),
        )

    def columns(self, start: int = 0) -> Columns:
        """The columns of the tokens from `start` on, as copies."""
        first = self._alternative_ends[start - 1] if start else 0
        ends = self._alternative_ends
        return Columns(
            self.texts(start),
            self.logprobs[start:],
            self.at[start:],
            self._ids[start:],
            {index - start: raw for index, raw in self._raws.items() if index >= start},
            array("I", (ends[i] - (ends[i - 1] if i else 0) for i in range(start, len(ends)))),
            [self._vocabulary[entry] for entry in self._alternative_entries[first:]],
            self._alternative_logprobs[first:],
            self._alternative_ids[first:],
            {index - first: raw for index, raw in self._alternative_raws.items() if index >= first},
        )

    def extend(self, columns: Columns) -> None:
        """Add tokens as whole columns; the inverse of `columns()`.

        Raises ValueError where the columns' lengths do not agree.
        """
        count, alternatives = len(columns.texts), len(columns.alternative_texts)
        if not (
            count == len(columns.logprobs) == len(columns.at) == len(columns.alternative_counts)
            and len(columns.ids) in (0, count)
            and sum(columns.alternative_counts) == alternatives == len(columns.alternative_logprobs)
            and len(columns.alternative_ids) in (0, alternatives)
        ):
            raise ValueError("token columns of unequal length")
        index, first = len(self._entries), len(self._alternative_entries)
        self._extend_ids(self._ids, columns.ids, index, count)
        self._extend_ids(self._alternative_ids, columns.alternative_ids, first, alternatives)
        self._learn(columns.texts)
        self._learn(columns.alternative_texts)
        entry = self._known.__getitem__
        self._entries.extend(map(entry, columns.texts))
        ends = array("I", accumulate(map(len, columns.texts), initial=self.length))
        self.length = ends.pop()
        self._starts.extend(ends)
        self.logprobs.extend(columns.logprobs)
        self.at.extend(columns.at)
        self._raws.update((index + i, raw) for i, raw in columns.raws.items())
        self._alternative_ends.extend(islice(accumulate(columns.alternative_counts, initial=first), 1, None))
        self._alternative_entries.extend(map(entry, columns.alternative_texts))
        self._alternative_logprobs.extend(columns.alternative_logprobs)
        self._alternative_raws.update((first + i, raw) for i, raw in columns.alternative_raws.items())
        self._fewest = min(filter(None, (self._fewest, *columns.alternative_counts)), default=None)
        self._text = None

    def _learn(self, texts: Iterable[str]) -> None:
        """Have all texts in the vocabulary, in the order in which they first appear."""
        known = self._known
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        self._vocabulary += new

    @staticmethod
    def _extend_ids(ids: array[int], more: array[int], have: int, count: int) -> None:
        if more and not ids:
            ids.extend([-1] * have)
        if more or ids:
            ids.extend(more or [-1] * count)


def token_bytes(text: str, raw: bytes | None) -> bytes:
    """What a token is in bytes; a token that ends a character adds more text than it has bytes."""
    return text.encode("utf-8", "surrogatepass") if raw is None else raw


def _put(ids: array[int], index: int, value: int | None) -> None:
    if len(ids) < index:
        ids.extend([-1] * (index - len(ids)))
    ids.append(-1 if value is None else value)


def _number(value: float) -> float | None:
    return None if isnan(value) else value


def _id(ids: array[int], index: int) -> int | None:
    if not ids or ids[index] < 0:
        return None
    return ids[index]
