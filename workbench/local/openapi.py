"""The server's OpenAPI document, generated from the table of fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.parameter_table import Field, Kind
from workbench.local.request_validation import BODY_FIELDS, MOST_IDS, UNSUPPORTED

_TEXT: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_SWITCH: JsonObject = {"type": ["boolean", "null"]}
_TEXT_OR_NULL: JsonObject = {"type": ["string", "null"]}
_REFUSED = (400, 401, 403, 413, 415, 429, 500, 503)


def openapi_document(model: str, context: int, vocabulary: int) -> JsonObject:
    """Return the OpenAPI document of a server with one model."""
    ids: JsonObject = {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": vocabulary - 1},
        "minItems": 1,
    }
    content: JsonObject = {
        "content": _TEXT,
        "add_special": _SWITCH,
        "parse_special": _SWITCH,
        "with_pieces": _SWITCH,
    }
    prompt: JsonObject = {"prompt": _TEXT, "add_special_tokens": _SWITCH, "model": {}}
    tokenize: JsonObject = {"anyOf": [_object(content, ["content"]), _object(prompt, ["prompt"])]}
    tokenized = _object({"tokens": _array({}), "count": _COUNT, "max_model_len": _COUNT}, ["tokens"])
    detokenize = _object({"tokens": {**ids, "minItems": 0, "maxItems": MOST_IDS}, "model": {}}, ["tokens"])
    listed: JsonObject = {"type": "object", "required": ["id", "object", "created", "owned_by"]}
    named: JsonObject = {"name": "model", "in": "path", "required": True, "schema": {"enum": [model]}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Completion Workbench: local server", "version": "1"},
        "paths": {
            "/v1/completions": {
                "post": _operation(
                    "Create a completion",
                    _completion_answer(),
                    _completion_request(model, context, ids),
                    (*_REFUSED, 404),
                    streams=True,
                )
            },
            "/v1/models": {
                "get": _operation("List the model", _object({"object": _TEXT, "data": _array(listed)}))
            },
            "/v1/models/{model}": {
                "get": {
                    **_operation("Describe the model", listed, refused=(401, 403, 404, 503)),
                    "parameters": [named],
                }
            },
            "/health": {"get": _operation("Say whether requests are answered", _object({"status": _TEXT}))},
            "/props": {"get": _operation("Describe the model", {"type": "object"})},
            "/tokenize": {"post": _operation("Tokens of a text", tokenized, tokenize, _REFUSED)},
            "/detokenize": {
                "post": _operation(
                    "Text of tokens", _object({"content": _TEXT, "prompt": _TEXT}), detokenize, _REFUSED
                )
            },
            "/tokenizer_info": {
                "get": _operation(
                    "Describe the tokenizer",
                    _object({"bos_token": _TEXT_OR_NULL, "eos_token": _TEXT_OR_NULL, "chat_template": _TEXT}),
                )
            },
            "/openapi.json": {"get": _operation("This document", {"type": "object"})},
        },
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


def _completion_request(model: str, context: int, ids: JsonObject) -> JsonObject:
    fields: dict[str, JsonValue] = {
        "model": {"const": model},
        "prompt": {"anyOf": [_TEXT, _array(_TEXT, 1), ids, _array(ids, 1)]},
        "stream_options": {
            "type": ["object", "null"],
            "properties": {"include_usage": _SWITCH, "include_obfuscation": _SWITCH},
            "additionalProperties": False,
        },
        "echo": {**_SWITCH, "description": "Whether the text begins with the prompt. Default: false."},
        "include_stop_str_in_output": {**_SWITCH, "description": "Default: true."},
        "user": {**_TEXT_OR_NULL, "description": "Ignored."},
        **{name: {"enum": [neutral, None]} for name, neutral in UNSUPPORTED.items()},
    }
    for field in BODY_FIELDS:
        fields[field.name] = {**_field(field), "description": f"{field.help} Default: {field.unset}."}
    fields["max_tokens"] = {"type": ["integer", "null"], "minimum": 0, "maximum": min(context - 1, 2**31 - 1)}
    plain: JsonObject = {"stream": {"enum": [False, None]}, "stream_options": {"type": "null"}}
    streamed: JsonObject = {"stream": {"const": True}, "best_of": {"enum": [1, None]}}
    echoed: JsonObject = {"properties": {"echo": {"const": True}}, "required": ["echo"]}
    return {
        **_object(fields, ["model", "prompt"]),
        "anyOf": [{"properties": plain}, {"properties": streamed, "required": ["stream"]}],
        "allOf": [{"anyOf": [{"properties": {"max_tokens": {"minimum": 1}}}, echoed]}],
    }


def _field(field: Field) -> JsonObject:
    match field.kind:
        case Kind.INTEGER | Kind.NUMBER:
            schema: dict[str, JsonValue] = {"type": [field.kind.value, "null"]}
            if field.range is not None:
                low = "exclusiveMinimum" if field.range.low_open else "minimum"
                schema |= {low: field.range.low, "maximum": field.range.high}
            return schema
        case Kind.SWITCH:
            return _SWITCH
        case Kind.TEXTS:
            text: JsonObject = {"type": "string", "minLength": 1}
            return {"anyOf": [text, {**_array(text), "maxItems": field.most or 0}, {"type": "null"}]}
        case Kind.BIASES:
            bounds: dict[str, JsonValue] = {"type": "integer"}
            if field.range is not None:
                bounds |= {"minimum": field.range.low, "maximum": field.range.high}
            # The pattern matches any token id; ids that the model does not have are refused.
            return {
                "type": ["object", "null"],
                "patternProperties": {"^[0-9]{1,9}$": bounds},
                "additionalProperties": False,
            }
        case _:
            return _TEXT_OR_NULL


def _completion_answer() -> JsonObject:
    logprob: JsonObject = {"type": ["number", "null"], "maximum": 0}
    logprobs = _object(
        {
            "tokens": _array(_TEXT),
            "token_logprobs": _array(logprob),
            "text_offset": _array(_COUNT),
            "top_logprobs": _array({"type": ["object", "null"], "additionalProperties": logprob}),
        }
    )
    choice = _object(
        {
            "text": _TEXT,
            "index": _COUNT,
            "finish_reason": {"enum": ["stop", "length"]},
            "logprobs": {"anyOf": [logprobs, {"type": "null"}]},
        }
    )
    counts = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), _COUNT)
    return _object(
        {
            "id": _TEXT,
            "object": {"const": "text_completion"},
            "created": _COUNT,
            "model": _TEXT,
            "choices": _array(choice),
            "usage": _object(counts),
        }
    )


def _operation(
    summary: str,
    answer: JsonObject,
    body: JsonObject | None = None,
    refused: tuple[int, ...] = (401, 403, 503),
    streams: bool = False,
) -> JsonObject:
    content: dict[str, JsonValue] = {"application/json": {"schema": answer}}
    if streams:
        # The schema of a server-sent event: its data is a chunk as JSON text, or `[DONE]`.
        content["text/event-stream"] = {"schema": {"type": "object", "properties": {"data": _TEXT}}}
    responses: dict[str, JsonValue] = {"200": {"description": "OK", "content": content}}
    for status in refused:
        responses[str(status)] = _refusal(status)
    operation: dict[str, JsonValue] = {"summary": summary, "responses": responses}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation


def _refusal(status: int) -> JsonObject:
    error = _object({"message": _TEXT, "type": _TEXT, "param": _TEXT_OR_NULL, "code": _TEXT})
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"schema": _object({"error": error})}},
    }


def _object(properties: Mapping[str, JsonValue], required: Sequence[str] | None = None) -> JsonObject:
    """Return the schema of an object with only these properties; all are required by default."""
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(properties) if required is None else required,
    }


def _array(items: JsonObject, least: int = 0) -> JsonObject:
    return {"type": "array", "items": items, "minItems": least}
