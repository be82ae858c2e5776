"""Finding, opening and managing sessions."""
