"""Text inputs that keep every character."""
