"""Why there is no alternative to take: messages for keys and rows that have none."""

from __future__ import annotations


def no_alternative(number: int, count: int) -> str:
    """Why there is nothing to branch with at a number."""
    if not count:
        return "The token has no alternatives: set logprobs to get some."
    listed = "alternative is" if count == 1 else "alternatives are"
    return f"There is no alternative {number}: {count} {listed} listed."


OTHER = "(other) is the probability of all tokens that are not listed: there is no token to take."
"""Why nothing can be done with the row of the remaining mass."""
