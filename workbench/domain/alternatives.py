"""A token's alternatives as table rows whose probabilities sum to 1, some with a note."""

from collections import Counter
from math import fsum
from typing import NamedTuple

from workbench.domain.choice import Token
from workbench.domain.display import token_text
from workbench.domain.figures import probability


class AlternativeRow(NamedTuple):
    """An alternative, the chosen token if it was not listed, or the remaining mass."""

    label: str
    mass: float | None
    """Probability; None if the endpoint reported none."""
    position: int | None = None
    """Index into the token's alternatives; None if the row cannot be branched to."""
    is_chosen: bool = False
    note: str = ""
    """A remark for the user, such as "not listed"."""
    is_remaining: bool = False
    """Whether the row is the probability mass of all unlisted tokens."""


def remaining_row(mass: float) -> AlternativeRow:
    """Return the row for the remaining mass."""
    return AlternativeRow("(other)", mass, is_remaining=True)


def rows_of(token: Token) -> tuple[AlternativeRow, ...]:
    """Return the alternatives in the endpoint's order, an unlisted chosen token, and the remaining mass."""
    texts = Counter((alternative.text, alternative.raw) for alternative in token.alternatives)
    rank, chosen_at = token.rank, token.listed_at
    # A chosen token listed in addition to the top k is not an alternative to branch to.
    outside = "" if rank is None or rank.is_exact else f"not among the top {rank.value - 1}"
    rows = []
    for index, (text, logprob, _, raw) in enumerate(token.alternatives):
        is_chosen = index == chosen_at
        note = (outside if is_chosen else "") or _note(text, raw, texts[text, raw] > 1)
        position = None if is_chosen and outside else index
        rows.append(AlternativeRow(token_text(text, raw), probability(logprob), position, is_chosen, note))
    if chosen_at is None and token.logprob is not None:
        note = outside or ("not listed" if token.alternatives else "")
        own = probability(token.logprob)
        rows.append(AlternativeRow(token_text(token.text, token.raw), own, is_chosen=True, note=note))
    total = fsum(row.mass for row in rows if row.mass is not None)
    if total > 1:
        # Rounded and merged probabilities may sum to slightly more than 1.
        rows = [row if row.mass is None else row._replace(mass=row.mass / total) for row in rows]
    elif rows and 1 - total > 1e-6:
        rows.append(remaining_row(1 - total))
    return tuple(rows)


def _note(text: str, raw: bytes | None, repeated: bool) -> str:
    if repeated:
        return "same text, another token"
    if raw is not None and text and raw.decode("utf-8", "replace") != text:
        return "text is not its bytes"
    return ""
