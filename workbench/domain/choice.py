"""One choice of a run, stored as growing token columns.

At 100,000 tokens with five alternatives, one object per token takes several times the memory of columns, and
only a screenful is shown at once. The token texts always join to the text of the choice; bytes that are not
text are stored in a separate column.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from math import isnan, nan
from typing import NamedTuple


class Alternative(NamedTuple):
    """A token that the model could have chosen at a position."""

    text: str
    logprob: float | None
    """Nats; None if the endpoint reported no number."""
    id: int | None = None
    raw: bytes | None = None
    """The token's bytes if they are not the UTF-8 encoding of `text`."""


def top_choice(alternatives: Iterable[Alternative]) -> Alternative | None:
    """Return the most likely alternative; None if none has a logprob."""
    known = (alternative for alternative in alternatives if alternative.logprob is not None)
    return max(known, key=lambda alternative: alternative.logprob or 0.0, default=None)


class ReceivedToken(NamedTuple):
    """A token as received from an endpoint."""

    text: str
    """The text added to the choice; empty for an incomplete UTF-8 sequence."""
    logprob: float | None = None
    alternatives: Sequence[Alternative] = ()
    id: int | None = None
    raw: bytes | None = None
    """The token's bytes if they are not the UTF-8 encoding of `text`."""


class Rank(NamedTuple):
    """A token's rank by logprob in the model's whole vocabulary, from 1."""

    value: int
    """The rank, or its lower bound."""
    is_exact: bool
    """Whether the listed alternatives determine the rank; otherwise it is `value` or larger."""

    def __str__(self) -> str:
        return f"{self.value}" if self.is_exact else f"> {self.value - 1}"


class Token(NamedTuple):
    """A token of a choice, read from its columns."""

    position: int
    """Index in the choice, from 0."""
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
    """None if the alternatives do not determine it."""

    @property
    def listed_at(self) -> int | None:
        """Index of the token among its listed alternatives; None if it is not listed.

        Tokens are compared by id where known, else by bytes; of several matches, the nearest logprob wins.
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


class Columns(NamedTuple):
    """All token columns of a choice, for reading and writing files; NaN means no logprob, -1 no id."""

    texts: list[str]
    logprobs: array[float]
    at: array[float]
    ids: array[int]
    """Empty if no token has an id."""
    raws: dict[int, bytes]
    """By token index."""
    alternative_counts: array[int]
    alternative_texts: list[str]
    alternative_logprobs: array[float]
    alternative_ids: array[int]
    """Empty if no alternative has an id."""
    alternative_raws: dict[int, bytes]
    """By index into the alternative columns."""


class Choice:
    """One answer: its tokens and its finish reason."""

    def __init__(self, index: int, top_logprobs: int | None = None) -> None:
        self.index = index
        """prompt_number * n + choice_number."""
        self.top_logprobs = top_logprobs
        """The number of alternatives requested per token; None if unknown."""
        self.finish_reason: str | None = None
        """As sent by the endpoint; None until then."""
        self.echoed = 0
        """Number of leading tokens that repeat the prompt (`echo`)."""
        self.revision = 0
        """Incremented when stored tokens are replaced, so that readers start over."""
        self._vocabulary: list[str] = []
        self._known: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._entries = array("I")
        self._starts = array("I")
        self.length = 0
        """Length of the text in characters."""
        self.logprobs = array("d")
        """Logprob of each token in nats; NaN if there is none. Callers must not modify it or `at`."""
        self.at = array("d")
        """Arrival time of each token, in seconds since the request."""
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
        """Append a token that arrived `at` seconds after the request."""
        # Not split into helpers for speed: this runs for every token of every stream.
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
        """Replace all tokens by those that the endpoint reported later."""
        self._clear()
        self.revision += 1
        for token, when in zip(tokens, at, strict=True):
            self.append(token, when)

    @property
    def text(self) -> str:
        """The text received so far."""
        if self._text is None:
            vocabulary = self._vocabulary
            self._text = "".join([vocabulary[entry] for entry in self._entries])
        return self._text

    def text_of(self, index: int) -> str:
        """Return a token's text."""
        return self._vocabulary[self._entries[index]]

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the texts of the tokens from `start` up to `stop`."""
        vocabulary = self._vocabulary
        return [vocabulary[entry] for entry in self._entries[start:stop]]

    def start_of(self, index: int) -> int:
        """Return the offset of a token's text in characters."""
        return self._starts[index]

    def token_at(self, offset: int) -> int:
        """Return the index of the token that completes the character at an offset."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def logprob_of(self, index: int) -> float | None:
        """Return a token's logprob in nats, or None."""
        return _number(self.logprobs[index])

    def raw_of(self, index: int) -> bytes | None:
        """Return a token's bytes if they are not the UTF-8 encoding of its text."""
        return self._raws.get(index)

    def bytes_of(self, index: int) -> bytes:
        """Return a token's bytes."""
        return token_bytes(self.text_of(index), self._raws.get(index))

    def id_of(self, index: int) -> int | None:
        """Return a token's id, or None if unknown."""
        return _id(self._ids, index)

    def alternatives_of(self, index: int) -> tuple[Alternative, ...]:
        """Return a token's alternatives in the endpoint's order."""
        first, end = self._alternative_ends[index - 1] if index else 0, self._alternative_ends[index]
        texts = map(self._vocabulary.__getitem__, self._alternative_entries[first:end])
        logprobs = map(_number, self._alternative_logprobs[first:end])
        if not self._alternative_ids and not self._alternative_raws:
            return tuple(map(Alternative, texts, logprobs))
        ids = (_id(self._alternative_ids, position) for position in range(first, end))
        raws = map(self._alternative_raws.get, range(first, end))
        return tuple(map(Alternative, texts, logprobs, ids, raws))

    def alternative_logprobs_of(self, index: int) -> Sequence[float]:
        """Return the logprobs of a token's alternatives in nats; NaN if there is none."""
        first = self._alternative_ends[index - 1] if index else 0
        return self._alternative_logprobs[first : self._alternative_ends[index]]

    @property
    def listed_top(self) -> int:
        """The number of most likely tokens that every list of alternatives contains for certain.

        An endpoint may list the chosen token in addition, and fewer tokens than requested.
        """
        counts = (self.top_logprobs, self._fewest)
        return min((count for count in counts if count is not None), default=0)

    def rank_of(self, index: int) -> Rank | None:
        """Return a token's rank or its lower bound; None if the alternatives determine neither."""
        logprob, listed = self.logprobs[index], self.alternative_logprobs_of(index)
        if isnan(logprob) or not listed:
            return None
        likelier = sum(1 for other in listed if other > logprob)
        # At most one listed token, the chosen one, is not among the most likely.
        is_exact = likelier < max(self.listed_top, len(listed) - 1)
        return Rank(likelier + 1, is_exact) if likelier or is_exact else None

    def received(self, index: int) -> ReceivedToken:
        """Return a token as received. Raises IndexError after the last token."""
        text, logprob = self.text_of(index), _number(self.logprobs[index])
        return ReceivedToken(
            text, logprob, self.alternatives_of(index), self.id_of(index), self._raws.get(index)
        )

    def token(self, index: int) -> Token:
        """Return a token with its position, time and rank. Raises IndexError after the last token."""
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
        """Return a copy of the columns of the tokens from `start` on."""
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
        """Append tokens given as columns; the inverse of `columns()`.

        Raises ValueError if the columns differ in length.
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
        """Add new texts to the vocabulary, in order of first appearance."""
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
    """Return a token's bytes; `raw` differs from `text` if a character spans several tokens."""
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
