"""Exporting the session or a run."""
