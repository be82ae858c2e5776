"""Screens: the main one, and what lies on top of it."""
