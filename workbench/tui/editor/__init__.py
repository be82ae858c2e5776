"""The exact text area, and the editors made of it."""
