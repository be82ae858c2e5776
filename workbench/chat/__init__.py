"""Conversations and templates: the only place that knows Jinja."""
