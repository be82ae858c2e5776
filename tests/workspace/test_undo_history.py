"""Changes are undone and redone in turn, a new one ends what could be redone, and memory is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.workspace.drafting import PromptText
from workbench.workspace.undo_history import History, Location, ReplaceText, Step


class Typed:
    """A prompt whose changes can be undone."""

    def __init__(self, most_bytes: int = 1_000_000) -> None:
        self.text = PromptText()
        self.history = History(most_bytes)

    def replace(self, start: Location, end: Location, text: str) -> None:
        self.history.record_text(self.text.replace(start, end, text))

    def set(self, text: str) -> None:
        if (change := self.text.change_to(text)) is not None:
            self.history.record("text", self.apply(change))

    def type(self, keys: str) -> None:
        for key in keys:
            end = len(self.text.text)
            self.replace((0, end), (0, end), key)

    def delete(self, count: int) -> None:
        for _ in range(count):
            end = len(self.text.text)
            self.replace((0, end - 1), (0, end), "")

    def apply(self, step: Step) -> Step:
        assert isinstance(step, ReplaceText)
        self.text.apply(step)
        return step.inverse

    def undo(self) -> str:
        self.history.undo(self.apply)
        return self.text.text

    def redo(self) -> str:
        self.history.redo(self.apply)
        return self.text.text


def test_the_newest_change_is_undone_first_and_redone_last() -> None:
    typed = Typed()
    typed.set("one")
    typed.set("two")
    assert [typed.undo(), typed.undo(), typed.undo()] == ["one", "", ""]
    assert [typed.redo(), typed.redo(), typed.redo()] == ["one", "two", "two"]


def test_a_new_change_ends_what_could_be_redone() -> None:
    typed = Typed()
    typed.set("one")
    typed.undo()
    typed.set("two")
    assert typed.history.redo(typed.apply) == ""
    assert typed.text.text == "two"


def test_another_session_has_nothing_to_undo() -> None:
    typed = Typed()
    typed.set("one")
    typed.set("two")
    typed.undo()
    typed.history.clear()
    assert (typed.undo(), typed.redo()) == ("one", "one")


def test_what_is_typed_in_one_go_is_undone_in_one_and_deleting_apart() -> None:
    typed = Typed()
    typed.type("Alpha beta")
    typed.delete(4)
    typed.type("!")
    assert [typed.undo(), typed.undo(), typed.undo()] == ["Alpha ", "Alpha beta", ""]
    assert [typed.redo(), typed.redo(), typed.redo()] == ["Alpha beta", "Alpha ", "Alpha !"]


def test_typing_is_divided_where_something_else_was_done_and_where_it_is_long() -> None:
    typed = Typed()
    typed.type("one")
    typed.history.seal()
    typed.type(" two")
    assert typed.undo() == "one"
    typed.type("x" * 150)
    assert typed.undo() == "one" + "x" * 100
    assert typed.undo() == "one"
    assert typed.undo() == ""


def test_a_group_is_one_change_whose_parts_are_undone_last_first() -> None:
    typed = Typed()
    with typed.history.group("both"):
        typed.set("one")
        typed.set("one two")
    assert len(typed.history) == 1
    assert typed.history.undo(typed.apply) == "both"
    assert typed.text.text == ""
    assert typed.redo() == "one two"
    assert typed.undo() == ""


def test_the_oldest_changes_are_forgotten_where_they_keep_too_much_memory() -> None:
    typed = Typed(most_bytes=20_000)
    for number in range(10):
        typed.replace((0, 0), (0, len(typed.text.text)), f"{number}" * 2000)
    kept = len(typed.history)
    assert 2 <= kept <= 6
    for _ in range(10):
        typed.undo()
    assert typed.text.text == f"{9 - kept}" * 2000
    for _ in range(10):
        typed.redo()
    assert typed.text.text == "9" * 2000


@given(st.lists(st.text(st.sampled_from("ab\n\r\u2028é"), max_size=8), max_size=12), st.lists(st.booleans()))
def test_every_state_comes_back_whatever_is_undone_and_redone(texts: list[str], steps: list[bool]) -> None:
    typed = Typed()
    states = [""]
    for text in texts:
        if text != states[-1]:
            typed.set(text)
            states.append(text)
    position = len(states) - 1
    for is_back in steps:
        position = max(position - 1, 0) if is_back else min(position + 1, len(states) - 1)
        assert (typed.undo() if is_back else typed.redo()) == states[position]
