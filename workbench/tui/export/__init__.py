"""Writing the session or a run in a form that others read."""
