"""Comparing presets and runs side by side."""
