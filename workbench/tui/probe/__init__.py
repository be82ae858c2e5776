"""Probing which parameters an endpoint supports."""
