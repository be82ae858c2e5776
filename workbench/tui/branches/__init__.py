"""Branches: runs that leave another one at a token."""
