"""Commands: what can be done, by which keys, and how a person's own keys take their place."""
