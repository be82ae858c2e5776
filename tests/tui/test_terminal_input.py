"""What a terminal sends becomes keys and pastes, exactly; nothing that it may send ends the program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from workbench.tui import terminal
from workbench.tui.terminal import TerminalParser

NASTY = "a\u2028b\rc\x0cd\x85e\x0bf\tg  \r\nh\x1b[31m\x00\u202e\u2029\x1c \n"
nasty = st.text(st.sampled_from(NASTY) | st.characters(exclude_categories=()), max_size=30)


def parsed(*pieces: str) -> list[Message]:
    parser = TerminalParser()
    return [message for chunk in pieces for message in parser.feed(chunk)]


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def keys(*pieces: str) -> list[str]:
    return [event.key if isinstance(event, events.Key) else repr(event) for event in parsed(*pieces)]


# --- pastes ----------------------------------------------------------------------------------------------


@given(nasty.filter(lambda text: "\x1b[20" not in text), st.integers(1, 9))
def test_a_paste_is_one_text_however_the_bytes_are_cut(text: str, size: int) -> None:
    stream = pasted(text + "\n")
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    (event,) = parsed(*pieces)
    assert isinstance(event, events.Paste)
    assert event.text == text + "\n"


def test_an_escape_sequence_in_a_paste_presses_no_key() -> None:
    (event,) = parsed(pasted("abc\x1b[31m\x11d"))
    assert isinstance(event, events.Paste)
    assert event.text == "abc\x1b[31m\x11d"


def test_an_end_mark_within_a_paste_does_not_free_what_follows() -> None:
    (event,) = parsed(pasted("a\x1b[201~\x11b"))
    assert isinstance(event, events.Paste)
    assert event.text == "a\x1b[201~\x11b"


def test_keys_before_between_and_after_pastes_stay_keys() -> None:
    found = parsed(f"x{pasted('one')}\x1b[A{pasted('two')}y")
    received = [
        event.text if isinstance(event, events.Paste) else getattr(event, "key", "?") for event in found
    ]
    assert received == ["x", "one", "up", "two", "y"]


def test_line_ends_that_the_terminal_turned_into_enter_keys_are_turned_back() -> None:
    (event,) = parsed(pasted("a\rb"))
    assert isinstance(event, events.Paste)
    assert event.text == "a\nb"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the parser sees."""
    now = [100.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("late", "then"), [("", ["x"]), ("\x1b[201~", ["x"]), ("[201~", ["x"])])
def test_a_paste_without_its_end_ends_after_some_quiet_seconds(
    clock: list[float], late: str, then: list[str]
) -> None:
    parser = TerminalParser()
    assert list(parser.feed("\x1b[200~word")) == []
    clock[0] += 1
    assert list(parser.tick()) == []
    clock[0] += terminal.PASTE_SECONDS
    (event,) = parser.tick()
    assert isinstance(event, events.Paste) and event.text == "word"
    found = [*(parser.feed(late) if late else ()), *parser.feed("x")]
    assert [key.key for key in found if isinstance(key, events.Key)] == then


def test_an_end_mark_that_lost_its_escape_is_no_text(clock: list[float]) -> None:
    parser = TerminalParser()
    assert list(parser.feed("\x1b[200~word[201~")) == []
    clock[0] += terminal.PASTE_SECONDS
    (event,) = parser.tick()
    assert isinstance(event, events.Paste) and event.text == "word"
    assert [key.key for key in parser.feed("x[") if isinstance(key, events.Key)] == [
        "x",
        "left_square_bracket",
    ]


def test_a_slow_paste_is_still_one_paste(clock: list[float]) -> None:
    parser = TerminalParser()
    for chunk in ("\x1b[200~one ", "two ", "three"):
        clock[0] += terminal.PASTE_SECONDS - 1
        assert [*parser.tick(), *parser.feed(chunk)] == []
    (event,) = parser.feed("\x1b[201~")
    assert isinstance(event, events.Paste) and event.text == "one two three"


# --- keys ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\x1b[106;5:1u", "ctrl+j"),
        ("\x1b[106;5:2u", "ctrl+j"),
        ("\x1b[106:74;5u", "ctrl+j"),
        ("\x1b[97:65;2u", "A"),
        ("\x1b[97:65;2:1u", "A"),
        ("\x1b[97::97;5u", "ctrl+a"),
        ("\x1b[97;;98u", "b"),
        ("\x1b[1;5:1A", "ctrl+up"),
        ("\x1b[3;5:1~", "ctrl+delete"),
        ("\x1b[1;1:1B", "down"),
        ("\x1b[106;5u", "ctrl+j"),
        ("\x1b[A", "up"),
        ("\x1b[3~", "delete"),
        ("\x1bOP", "f1"),
    ],
)
def test_a_key_is_the_same_with_and_without_its_event_type(sequence: str, key: str) -> None:
    assert keys(sequence) == [key]


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[106;5:3u",
        "\x1b[1;5:3A",
        "\x1b[3;1:3~",
        "\x1b[9999999999u",
        "\x1b[55296;1u",
        "\x1b[97;1;1114112u",
        "\x1b[97;1;57343:98u",
    ],
)
def test_a_release_or_a_number_beyond_unicode_is_no_key(sequence: str) -> None:
    assert keys(f"{sequence}x") == ["x"]


final = st.sampled_from("u~ABCDEFHPQRSmMtyIO")
sequences = st.builds(
    "\x1b[{}{}{}".format,
    st.sampled_from(["", "<", "?", "48;"]),
    st.lists(
        st.sampled_from([":", ";", "-", "$", "0", "1", "2", "201", "2048", "99999999999"]), max_size=9
    ).map("".join),
    final,
)


@given(st.lists(sequences | nasty, max_size=6))
def test_no_input_ends_the_parser(pieces: list[str]) -> None:
    parser = TerminalParser()
    for chunk in pieces:
        if chunk:
            list(parser.feed(chunk))
    list(parser.feed(f"\x1b[201~{' ' * 40}"))
    found = [event.key for event in parser.feed("x") if isinstance(event, events.Key)]
    assert found == ["x"]
