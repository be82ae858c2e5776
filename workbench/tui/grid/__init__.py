"""Grids of runs: parameter sweeps, and prompt sets with presets."""
