"""The terminal: the only place that knows Textual."""
