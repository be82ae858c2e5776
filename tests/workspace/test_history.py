"""Changes are taken back in turn, made again in turn, and a new one ends what could be redone."""

from hypothesis import given
from hypothesis import strategies as st

from workbench.workspace.history import Change, Changes


class Numbers:
    """Something to change: numbers are added at the end and taken away from it."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.changes = Changes()

    def add(self, value: int) -> None:
        self.values.append(value)
        self.changes.record(
            Change(f"adding {value}", lambda: self.values.remove(value), lambda: self.values.append(value))
        )


def test_the_newest_change_is_taken_back_first_and_made_again_last() -> None:
    numbers = Numbers()
    numbers.add(1)
    numbers.add(2)
    first = numbers.changes.undo()
    assert first is not None
    assert (first.label, numbers.values) == ("adding 2", [1])
    numbers.changes.undo()
    assert numbers.values == []
    assert numbers.changes.undo() is None
    numbers.changes.redo()
    numbers.changes.redo()
    assert numbers.values == [1, 2]
    assert numbers.changes.redo() is None


def test_a_new_change_ends_what_could_be_made_again() -> None:
    numbers = Numbers()
    numbers.add(1)
    numbers.changes.undo()
    numbers.add(2)
    assert numbers.changes.redo() is None
    assert numbers.values == [2]


def test_another_session_has_nothing_to_take_back() -> None:
    numbers = Numbers()
    numbers.add(1)
    numbers.add(2)
    numbers.changes.undo()
    numbers.changes.clear()
    assert (numbers.changes.undo(), numbers.changes.redo()) == (None, None)


@given(st.lists(st.booleans(), max_size=30))
def test_what_is_shown_is_always_what_was_done_and_not_taken_back(steps: list[bool]) -> None:
    numbers = Numbers()
    for value in range(10):
        numbers.add(value)
    for back in steps:
        numbers.changes.undo() if back else numbers.changes.redo()
    assert numbers.values == list(range(len(numbers.changes.done)))
