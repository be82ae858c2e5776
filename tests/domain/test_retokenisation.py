"""A joint is changed where a token that was generated is no token of the text any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.retokenisation import GeneratedToken, Retokenisation, find_retokenisation


def _joint(prompt: str, generated: str, tokens: str) -> Retokenisation | None:
    known = [GeneratedToken(text.encode()) for text in generated.split("|") if text]
    return find_retokenisation(prompt.encode(), known, [text.encode() for text in tokens.split("|")])


def test_tokens_that_stay_are_no_changed_joint() -> None:
    assert _joint("Once upon", " a| time", "Once| upon| a| time") is None
    assert _joint("", "a|b", "a|b") is None


def test_two_tokens_that_become_one_are_told() -> None:
    joint = _joint("A", " light|house| stood", "A| lighthouse| stood")
    assert joint is not None
    assert (joint.was, joint.now) == ((b" light", b"house"), (b" lighthouse",))
    assert joint.describe() == "retokenised at the branch point: “ light” + “house” → “ lighthouse”"


def test_one_token_that_becomes_two_is_told() -> None:
    assert _joint("A", " lighthouse", "A| light|house") == ((b" lighthouse",), (b" light", b"house"))


def test_a_prompt_that_ended_within_a_word_shows_its_part_of_the_token() -> None:
    assert _joint("The lig", "ht| on", "The| light| on") == ((b" lig", b"ht"), (b" light",))
    assert _joint("lig", "ht", "light") == ((b"lig", b"ht"), (b"light",))


def test_a_piece_of_several_tokens_is_no_change() -> None:
    whole = "🎉".encode()
    tokens = [b"A", whole[:2], whole[2:]]
    assert find_retokenisation(b"A", [GeneratedToken(whole, False)], tokens) is None
    assert find_retokenisation(b"A", [GeneratedToken(whole)], tokens) == ((whole,), (whole[:2], whole[2:]))


def test_a_character_over_several_tokens_is_shown_in_bytes() -> None:
    whole = "é".encode()
    joint = find_retokenisation(b"A", [GeneratedToken(whole[:1]), GeneratedToken(whole[1:])], [b"A", whole])
    assert joint is not None
    assert joint.describe().endswith("\\xc3 + \\xa9 → “é”")


def test_what_a_tokenizer_puts_before_everything_does_not_count() -> None:
    assert _joint("Once", " a", "<s>|Once| a") is None
    assert _joint("Once", " a|b", "<s>| Once| ab") is not None
    assert _joint("Once", " a", "something| else") is None


@given(st.text("ab", max_size=5), st.lists(st.text("ab", min_size=1, max_size=3)), st.data())
def test_both_sides_of_a_joint_are_the_same_text(
    prompt: str, generated: list[str], data: st.DataObject
) -> None:
    text = prompt + "".join(generated)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(text) - 1, 1)))) if len(text) > 1 else ())
    tokens = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    joint = find_retokenisation(
        prompt.encode(),
        [GeneratedToken(part.encode()) for part in generated],
        [part.encode() for part in tokens],
    )
    if joint is not None:
        assert b"".join(joint.was) == b"".join(joint.now)
        assert joint.was != joint.now
    elif text:
        assert tokens[len(tokens) - len(generated) :] == generated
