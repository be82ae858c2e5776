"""The prompt: its kind, its variables, and taking one from a curl command."""
