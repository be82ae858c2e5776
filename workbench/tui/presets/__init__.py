"""Applying, saving and managing presets."""
