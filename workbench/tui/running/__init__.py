"""Sending one run."""
