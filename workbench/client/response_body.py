"""Parse the body of a response, streamed or not: bytes in, events out, without I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from workbench.client.alignment import align
from workbench.client.byte_encoding import Encoding, whole
from workbench.client.dialect import ChoicePart, Reading, read_fast
from workbench.client.error_responses import error_within, no_completion, stray_error
from workbench.client.events import (
    Delta,
    DoneReceived,
    Error,
    Event,
    Finished,
    KeepAlive,
    ResponseInfo,
    UsageReceived,
    Warning,
)
from workbench.client.exact_dialect import Json, parse, read_exact
from workbench.client.sse import Comment, ErrorField, SseParser, Stray
from workbench.domain.choice import ReceivedToken
from workbench.domain.display import one_line
from workbench.domain.errors import EndpointError

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_START = re.compile(rb"(?:\xef\xbb\xbf)?+[ \t\r\n]*([^ \t\r\n])")
"""A body up to its first character."""
_DONE = b"[DONE]"
_QUOTED = 2000
"""Maximum bytes quoted from a stream that has no valid event."""
MOST_BYTES = 128 * 1024 * 1024
"""Maximum bytes of one event, or of an answer that is not streamed."""


class _ChoiceState(Struct):
    """The parser's state of one choice between two events."""

    incomplete: bytes = b""
    """The incomplete UTF-8 sequence at the end of the tokens."""
    encoding: Encoding | None = None
    """Encoding of the tokens' names; None until a name reveals it."""
    is_off: bool = False
    """Whether listed tokens did not match the text."""
    half: str = ""
    """The first half of a surrogate pair that waits for the second half."""
    texts: list[str] = []
    """The text so far, until logprobs are received: those of all text may follow at the end."""
    has_logprobs: bool = False
    finished: str | None = None


class ResponseBody:
    """Parser of one response, which detects by itself whether it is streamed."""

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        """`redact` removes the API key from text that the endpoint echoes."""
        self.marked = False
        """Whether the end was received: [DONE], or a complete JSON body."""
        self._redact = redact
        self._sse: SseParser | None = None
        self._body = bytearray()
        """The whole of an answer that is not streamed; the start of a stream until its first valid event."""
        self._states: dict[int, _ChoiceState] = {}
        self._info: tuple[str, str, int | None] = ("", "", None)
        self._answered = False
        self._stray: list[bytes] = []
        """Lines of the stream that do not belong to events."""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events completed by a chunk of the body, parsing them lazily.

        Raises EndpointError if an event, or an answer that is not streamed, is larger than `MOST_BYTES`.
        """
        if (len(self._body) if self._sse is None else self._sse.pending) > MOST_BYTES:
            raise EndpointError(
                f"The answer is larger than {MOST_BYTES // 1024**2} MiB without an end",
                "That is the limit for one event of a stream, and for an answer that is not streamed.",
                "Ask for fewer tokens, choices or logprobs, or stream the answer.",
            )
        if self._sse is None:
            self._body += chunk
            is_stream = begins_stream(self._body)
            if is_stream is None and not self._body.strip(_BLANK):
                # Some servers send blanks before the body for minutes, as keep-alives.
                self._body.clear()
            if not is_stream:
                return
            self._sse, chunk = SseParser(), bytes(self._body).removeprefix(_BOM)
        elif not self._answered and len(self._body) < _QUOTED:
            self._body += chunk
        for payload in self._sse.feed(chunk):
            events: list[Event] = []
            self._payload(payload, events)
            yield from events

    def finish(self) -> list[Event]:
        """Return the events completed by the end of the body."""
        events: list[Event] = []
        if self._sse is not None:
            for payload in self._sse.finish():
                self._payload(payload, events, is_last=True)
        elif self._body.strip(_BLANK):
            self._whole_body(events)
        for index, state in self._states.items():
            if state.half:
                raw = state.half.encode("utf-8", "surrogatepass")
                # In a truncated stream the second half may be missing, so the first is not shown as text.
                events.append(
                    Delta(index, (ReceivedToken(whole(state.half) if self.marked else "", raw=raw),))
                )
                state.half = ""
        if self._stray or (self._sse is not None and not self._answered):
            self._end_stray(b"\n".join(self._stray) or bytes(self._body[:_QUOTED]), events)
        return events

    def _end_stray(self, body: bytes, events: list[Event]) -> None:
        """Report text outside events: an error, unless every choice has finished; then a warning."""
        if not self._answered:
            events.append(Error(no_completion(body, self._redact)))
        elif self._states and all(state.finished for state in self._states.values()):
            message = stray_error(body, self._redact).message
            events.append(Warning(f"part of the response was not an event and is left out: {message}"))
        else:
            events.append(Error(stray_error(body, self._redact)))

    def _whole_body(self, events: list[Event]) -> None:
        body = bytes(self._body).removeprefix(_BOM).strip(_BLANK)
        reading = read_fast(body) or _read(body)
        if reading is None and body[:1] != b"<":
            # JSON lines, or a stream whose first line is not an event.
            parser = SseParser()
            for payload in [*parser.feed(body), *parser.finish()]:
                self._payload(payload, events, is_last=True)
        elif reading is not None and (reading.error is not None or reading.is_answer):
            self._mark(events)
            self._reading(reading, events)
        else:
            events.append(Error(no_completion(body, self._redact)))

    def _mark(self, events: list[Event]) -> None:
        if not self.marked:
            self.marked = True
            events.append(DoneReceived())

    def _payload(self, payload: bytes, events: list[Event], *, is_last: bool = False) -> None:
        reading = read_fast(payload)
        if reading is not None:
            self._reading(reading, events)
            return
        if isinstance(payload, Comment):
            events.append(KeepAlive(one_line(self._redact(payload.decode("utf-8", "replace")), 80)))
        elif isinstance(payload, ErrorField):
            self._answered = True
            events.append(Error(error_within(_json_or_text(payload), self._redact)))
        elif payload.strip() == _DONE:
            self._answered = True
            self._mark(events)
        elif (reading := _read(payload)) is not None and (
            type(payload) is not Stray or reading.is_answer or reading.error is not None
        ):
            self._reading(reading, events)
        elif b"\n" in payload and (type(payload) is not Stray or payload.lstrip()[:1] in b"{["):
            # A proxy removed the blank lines between events.
            for line in payload.split(b"\n"):
                self._payload(type(payload)(line), events, is_last=is_last)
        elif payload.lstrip()[:1] not in b"{[":
            self._stray.append(payload)
        elif payload.strip() and not is_last:
            events.append(Warning("part of the response was not JSON and is left out"))

    def _reading(self, reading: Reading, events: list[Event]) -> None:
        self._answered = True
        info = (reading.response_id, reading.model, reading.created)
        if info != self._info:
            self._info = info
            if reading.response_id or reading.model:
                names = self._redact(reading.response_id), self._redact(reading.model)
                events.append(ResponseInfo(*names, reading.created))
        events += reading.prompts
        for part in reading.parts:
            self._part(part, events)
        if reading.usage is not None:
            events.append(UsageReceived(reading.usage))
        if reading.odd_numbers:
            events.append(Warning("some logprobs were not numbers and are left out"))
        if reading.has_reasoning:
            events.append(
                Warning("the endpoint sent reasoning separately from the text; only the raw traffic shows it")
            )
        if reading.sampled:
            events.append(Warning("the probabilities are those after sampling"))
        if reading.error is not None:
            events.append(Error(error_within(reading.error, self._redact)))

    def _part(self, part: ChoicePart, events: list[Event]) -> None:
        index, text, reason, entries = part.choice, part.text, part.finish_reason, part.entries
        state = self._states.get(index)
        if state is None:
            state = self._states[index] = _ChoiceState()
            if not text and not entries:
                events.append(Delta(index, ()))
        if state.half or (
            not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
        ):
            text = _join_halves(state, text)
        if text or entries:
            if state.finished and text:
                events.append(Warning("text received after a finish_reason"))
            self._add(index, state, text, entries or (), events)
        if reason is not None and reason != state.finished:
            state.finished = reason
            events.append(Finished(index, self._redact(reason)))

    def _add(
        self,
        index: int,
        state: _ChoiceState,
        text: str,
        entries: Sequence[ReceivedToken],
        events: list[Event],
    ) -> None:
        if not entries:
            state.incomplete = b""
            if not state.has_logprobs:
                state.texts.append(text)
            events.append(Delta(index, (ReceivedToken(text),)))
            return
        if not text and state.texts and not state.has_logprobs:
            before = "".join(state.texts)
            tokens = align(before, entries).tokens
            known = [token for token in tokens if token.text and token.logprob is not None]
            if len(known) * 2 >= len(entries) > 1:
                # The logprobs of the whole text, reported after it.
                state.has_logprobs, state.texts = True, []
                events.append(Delta(index, tokens, True))
                return
        if not state.has_logprobs:
            state.has_logprobs, state.texts = True, []
        if len(entries) == 1 and not state.incomplete and state.encoding is None:
            # The common case: one token whose name is the text.
            only = entries[0]
            if only.raw is None and only.text == text:
                events.append(Delta(index, entries))
                return
        if state.is_off and not text:
            return
        tokens, state.incomplete, state.encoding, is_off = align(
            text, entries, state.incomplete, state.encoding
        )
        events.append(Delta(index, tokens))
        if is_off:
            state.is_off = True
            events.append(Warning("logprobs whose tokens differ from the text were left out"))


def begins_stream(body: bytearray) -> bool | None:
    """Whether a body is a stream, neither JSON nor an HTML page of a proxy; None while that is unknown.

    Some servers ignore `stream` and send plain JSON.
    """
    found = None if _BOM.startswith(body) else _START.match(body)
    return None if found is None else found[1] not in b"{[<"


def _read(payload: bytes) -> Reading | None:
    try:
        return read_exact(payload)
    except ValueError:
        return None


def _json_or_text(payload: bytes) -> Json:
    try:
        return parse(payload)
    except ValueError:
        return payload.decode("utf-8", "replace")


def _join_halves(state: _ChoiceState, text: str) -> str:
    """Prepend the held-back surrogate half to a text, and hold back a first half at its end."""
    if not text:
        return ""
    text, state.half = state.half + text, ""
    if "\ud800" <= text[-1] <= "\udbff":
        text, state.half = text[:-1], text[-1]
    return whole(text)
