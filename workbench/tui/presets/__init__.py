"""Choosing, saving and looking after presets."""
