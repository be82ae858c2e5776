"""Scoring: how likely a model finds a text that is there already."""
