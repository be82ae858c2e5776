"""The server's description of itself, made from the one table of fields."""

from __future__ import annotations

from workbench.domain.json_values import JsonObject


def openapi_document(model: str) -> JsonObject:
    """The OpenAPI document."""
    return {"openapi": "3.1.0", "info": {"title": model, "version": "1"}, "paths": {}}
