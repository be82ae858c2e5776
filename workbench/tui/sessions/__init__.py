"""Finding, opening and naming sessions."""
