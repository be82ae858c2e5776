"""Theme files, colours and their contrast, and the styles of tokens."""
