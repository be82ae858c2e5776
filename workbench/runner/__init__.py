"""Doing things without a screen: one run, many runs, replay, re-run, branch, probe."""
