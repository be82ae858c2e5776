"""Sending a run."""
