"""Garbage is looked for in pauses, and rarely while something streams."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from workbench.cli import garbage_collection


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Leave the collector as it was."""
    thresholds, was_enabled = gc.get_threshold(), gc.isenabled()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    (gc.enable if was_enabled else gc.disable)()


def full_collections() -> int:
    """How many full collections there have been."""
    found: int = gc.get_stats()[2]["collections"]
    return found


def test_nothing_is_collected_before_the_start_is_over() -> None:
    with garbage_collection.held():
        assert not gc.isenabled()
        garbage_collection.begin()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0


def test_a_full_collection_comes_in_a_pause_once_enough_new_objects_were_looked_at() -> None:
    garbage_collection.begin()
    gc.collect()
    before = full_collections()
    kept: list[list[int]] = [[] for _ in range(60_000)]
    garbage_collection.collect_what_is_due()
    assert full_collections() == before
    kept += [[] for _ in range(60_000)]
    assert full_collections() == before, "none comes by itself"
    garbage_collection.collect_what_is_due()
    assert full_collections() == before + 1
    garbage_collection.collect_what_is_due()
    assert full_collections() == before + 1
