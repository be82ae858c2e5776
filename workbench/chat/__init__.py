"""Chat templates and truncation; the only package that uses Jinja."""
