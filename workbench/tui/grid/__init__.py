"""Many requests as a grid: a sweep of parameters, or a set of prompts under presets."""
