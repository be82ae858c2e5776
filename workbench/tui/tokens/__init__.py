"""Tokens as they are shown: transcript, rows, cursor, painter and view."""
