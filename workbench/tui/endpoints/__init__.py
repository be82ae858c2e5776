"""Choosing where requests are sent, and setting it up."""
