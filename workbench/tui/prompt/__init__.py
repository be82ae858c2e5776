"""The prompt's kind and variables, and the import of curl commands."""
