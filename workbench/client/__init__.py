"""Talking to endpoints: the only place that knows HTTP."""
