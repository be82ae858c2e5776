"""Commands, their keys, and the person's own keys."""
