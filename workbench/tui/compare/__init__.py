"""Comparing presets, columns and runs side by side."""
