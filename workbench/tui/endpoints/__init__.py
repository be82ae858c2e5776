"""Choosing and setting up endpoints."""
