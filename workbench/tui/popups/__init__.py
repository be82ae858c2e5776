"""Popups: lists, questions and forms; and the base of full screens that return a result."""
