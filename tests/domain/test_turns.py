"""Turns with branches: what is shown, what is beside it, and what is never lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.conversation import Chat, Conversation, Message, Role, Turn, Turns, linked

A, B, C = Turn("user", "a", "A"), Turn("assistant", "b", "B", parent="A"), Turn("user", "c", "C", parent="B")
TALK = Turns((A, B, C), "C")
OTHER = Turn("assistant", "b2", "B2", parent="A")


def test_the_path_goes_from_the_first_turn_to_the_last() -> None:
    assert TALK.path() == (A, B, C)
    assert TALK.with_turn(OTHER).path() == (A, OTHER)
    assert Turns().path() == ()


def test_a_circle_in_a_damaged_file_is_walked_once() -> None:
    circle = Turns((Turn("user", "", "X", parent="Y"), Turn("user", "", "Y", parent="X")), "X")
    assert {turn.id for turn in circle.path()} == {"X", "Y"}
    assert circle.without(["X"]).all == ()
    assert circle.beside(circle.all[0], 1) == circle


def test_branches_are_numbered_and_another_one_is_shown_to_its_newest_end() -> None:
    talk = TALK.with_turn(OTHER)
    assert talk.branches(OTHER) == (B, OTHER)
    assert talk.branch_counts() == {"B": (1, 2), "B2": (2, 2)}
    assert talk.beside(OTHER, -1).path() == (A, B, C)
    assert talk.beside(OTHER, 1) == talk
    assert talk.beside(B, 1).path() == (A, OTHER)


def test_without_a_turn_those_after_it_go_too_and_the_branch_beside_is_shown() -> None:
    talk = TALK.with_turn(OTHER).beside(OTHER, -1)
    assert talk.without(["B"]).path() == (A, OTHER)
    assert talk.without(["C"]).path() == (A, B)
    assert talk.without(["B2"]).path() == (A, B, C)
    assert talk.without(["A"]) == Turns()


def test_what_a_hand_wrote_is_linked_in_its_order() -> None:
    talk = linked([Turn("user", "a", ""), Turn("assistant", "b", "B"), Turn("user", "c", "")])
    assert [turn.text for turn in talk.path()] == ["a", "b", "c"]


def test_two_windows_turns_are_all_kept() -> None:
    mine, theirs = Turns((A, B), "B"), Turns((A, OTHER), "B2")
    assert mine.merged(theirs).all == (A, OTHER, B)
    assert mine.merged(theirs).path() == (A, B)
    assert Turns().merged(theirs).path() == (A, OTHER)


def test_variables_are_filled_in_what_a_person_wrote_alone() -> None:
    path = (Turn("user", "{{x}}", "1"), Turn("assistant", "{{x}}", "2", run="r"), Turn("other", "", "3"))
    chat = Chat(system="Be {{x}}.")
    assert chat.conversation(path, {"x": "y"}, "So") == Conversation(
        (Message(Role.USER, "y"), Message(Role.ASSISTANT, "{{x}}")), "Be y.", "So"
    )


@given(st.lists(st.integers(0, 8), min_size=1, max_size=9), st.data())
def test_what_is_taken_out_and_put_back_is_the_same_tree(parents: list[int], data: st.DataObject) -> None:
    turns = tuple(
        Turn("user", str(index), str(index), parent=str(parent) if parent < index else "")
        for index, parent in enumerate(parents)
    )
    talk = Turns(turns, turns[-1].id)
    left = talk.without([data.draw(st.sampled_from(turns)).id])
    assert all(not turn.parent or turn.parent in {other.id for other in left.all} for turn in left.all)
    assert left.last in {"", *(turn.id for turn in left.all)}
    gone = [turn for turn in talk.all if turn not in left.all]
    back = left.with_all(gone, talk.last)
    assert {turn.id for turn in back.path()} == {turn.id for turn in talk.path()}
    assert sorted(turn.id for turn in back.all) == sorted(turn.id for turn in talk.all)
