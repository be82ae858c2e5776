"""A conversation over plain completions."""
