"""Scoring existing texts."""
