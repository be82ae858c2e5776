"""The last request as it went over the wire."""
