"""The first draft."""

from __future__ import annotations

from workbench.domain.parameter_table import FIELDS
from workbench.domain.parameter_values import check_value
from workbench.workspace.first_draft import FIRST_DRAFT


def test_the_first_draft_is_allowed() -> None:
    assert [check_value(FIELDS[name], value) for name, value in FIRST_DRAFT.items()] == [None, None]
