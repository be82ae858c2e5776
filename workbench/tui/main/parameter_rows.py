"""The rows of the parameter panel, their problems, and the cost of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from workbench.domain.display import one_line, token_text
from workbench.domain.parameter_table import PARAMETERS, ParameterValue, Range
from workbench.domain.parameter_values import format_value
from workbench.domain.parameters import Parameters
from workbench.tui.editor.field_editor import extra_to_text
from workbench.tui.fixed_width import fit

MODEL, EXTRA = "model", "extra"
ROWS: tuple[str, ...] = (MODEL, *(field.name for field in PARAMETERS), EXTRA)
"""The names of the rows, top to bottom."""


class ParameterRows(NamedTuple):
    """The state of the panel, formatted as rows."""

    parameters: Parameters
    preset: Parameters
    """The parameters that changes are marked against."""
    limits: Mapping[str, Range]
    notes: Mapping[str, str]
    """Notes on fields, by name."""
    model: str
    token_texts: Mapping[str, str]
    """The texts of token ids in `logit_bias`."""
    prompts: int
    """The number of prompts in a request."""

    def line(self, name: str, width: int, *, is_current: bool) -> Content:
        """Return a row of a width in cells; `is_current` if it is selected."""
        value, is_set = self._value(name)
        mark = "✗" if name in self.problems else "•" if self._differs(name) else " "
        note = "!" if name in self.notes else " "
        room = max(width - cell_len(name) - 4, 3)
        value = fit(value, min(cell_len(value), room))
        gap = " " * max(width - 3 - cell_len(name) - cell_len(value), 1)
        style = "" if is_set else "$text-muted"
        line = Content.assemble(
            (mark, "$text-error" if mark == "✗" else "$text-accent"),
            " ",
            (name, style),
            gap,
            (value, "bold" if is_set else style),
            (note, "$text-warning"),
        )
        # Without the colours of the parts, so that the row is reversed in a single colour.
        return Content.styled(line.plain, "reverse") if is_current else line

    def _value(self, name: str) -> tuple[str, bool]:
        """Return the value of a row, and whether it is set."""
        if name == MODEL:
            return one_line(self.model, 60) or "—", bool(self.model)
        if name == EXTRA:
            keys = ", ".join(one_line(key, 30) for key in self.parameters.extra)
            return keys or "—", bool(self.parameters.extra)
        return self._format(self.parameters.sent(name)), self.parameters.get(name) is not None

    def _format(self, value: ParameterValue | None) -> str:
        match value:
            case tuple():
                return " ".join(f'"{token_text(item)}"' for item in value)
            case Mapping():
                return " ".join(f"{self._token(key)}={format_value(bias)}" for key, bias in value.items())
            case _:
                return format_value(value)

    def _token(self, key: str) -> str:
        text = self.token_texts.get(key)
        return one_line(key, 20) if text is None else f"{key}({token_text(text)})"

    def _differs(self, name: str) -> bool:
        if name == MODEL:
            return False
        if name == EXTRA:
            return extra_to_text(self.preset.extra) != extra_to_text(self.parameters.extra)
        return self.preset.get(name) != self.parameters.get(name)

    @property
    def problems(self) -> dict[str, str]:
        """The problems of fields, by name."""
        return {problem.field: problem.title for problem in self.parameters.problems(self.limits)}

    @property
    def cost(self) -> str:
        """The most tokens that a request may generate; empty if it is for a single completion."""
        parameters = self.parameters
        n, best_of = parameters.number("n", 1), parameters.number("best_of", 1)
        each, most = int(max(n, best_of)), parameters.max_tokens
        if each * self.prompts <= 1:
            return ""
        factors = [f"{self.prompts} prompts"] * (self.prompts > 1)
        factors += [f"{'best_of' if best_of > n else 'n'} {each}"] * (each > 1)
        return f"up to {self.prompts * each * most:,} tokens: {' × '.join([*factors, f'{most:,}'])}"
