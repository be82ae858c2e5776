"""Replaying a recorded run."""
