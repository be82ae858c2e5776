"""A run as TOML text and back: its header first for a person to read, its token columns compact and last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from workbench.domain.choice import Choice, Piece
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue, holds_null
from workbench.domain.prompt import Prompt, TextPrompt, prompt_from_json, prompt_to_json
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Failure, Outcome, Parent, Run, Usage
from workbench.domain.splitting import SentPart, Split
from workbench.storage.fields import BadField, Fields
from workbench.storage.token_columns import columns_from_table, columns_to_table
from workbench.storage.toml_text import sound, toml_column, toml_string, toml_table

_ALWAYS_SENT = {"max_tokens": "max_tokens", "stream": "stream", "stream_options": "include_usage"}
"""What a body has although nobody set it, with its parameter; `unasked` of a run names what nobody set."""


def run_to_toml(run: Run) -> str:
    """A run as one `[[runs]]` section that can be appended to a session file.

    Every choice comes first with its text, then the token columns of all, so that a reader meets prompt,
    parameters and answers before any table of numbers.
    """
    return sound("".join(_run_lines(run)))


def _run_lines(run: Run) -> Iterator[str]:
    yield "\n[[runs]]\n"
    yield from toml_table(header_to_table(run), "runs")
    for choice in run.ordered:
        yield f"\n[[runs.choices]]\nindex = {choice.index}\n"
        if choice.finish_reason is not None:
            yield f"finish_reason = {toml_string(choice.finish_reason)}\n"
        if choice.echoed:
            yield f"echoed = {choice.echoed}\n"
        yield f"text = {toml_string(choice.text)}\n"
    for choice in run.ordered:
        if len(choice):
            yield f"\n[[runs.tokens]]\nchoice = {choice.index}\n"
            for name, column in columns_to_table(choice.columns()).items():
                yield f"{name} = {toml_column(column)}\n"


def header_to_table(run: Run) -> dict[str, object]:
    """Everything of a run but its choices."""
    table: dict[str, object] = {"id": run.id, "started": run.started}
    texts = {"name": run.name, "endpoint": run.endpoint, "model": run.model, "preset": run.preset}
    table |= {key: text for key, text in texts.items() if text}
    if run.outcome is not None:
        table["outcome"] = run.outcome.value
    texts = {"group": run.group, "turn": run.turn, "response_id": run.response_id}
    table |= {key: text for key, text in texts.items() if text}
    optional = {"created": run.created, "raw_logprobs": run.raw_logprobs}
    table |= {key: value for key, value in optional.items() if value is not None}
    if run.tags:
        table["tags"] = list(run.tags)
    if run.notes:
        table["notes"] = list(run.notes)
    if run.parent is not None:
        table["parent"] = _parent_to_table(run.parent)
    table |= _request_to_tables(run)
    if run.split:
        table["split"] = [name for name in _SPLITS if getattr(run.split, name)]
    if run.parts:
        table["parts"] = [_part_to_table(part) for part in run.parts]
    if run.first_token is not None or run.total is not None:
        # Rounded as the columns are, so that a run recovered from its journal is written the same again.
        seconds = {"first_token": _microseconds(run.first_token), "total": run.total}
        table["timing"] = {key: value for key, value in seconds.items() if value is not None}
    if run.usage is not None:
        usage = run.usage
        table["usage"] = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        }
    if run.error is not None:
        table["error"] = _failure_to_table(run.error)
    return {**table, **run.other}


_SPLITS = ("prompts", "choices")


def _part_to_table(part: SentPart) -> dict[str, object]:
    table: dict[str, object] = {"choices": list(part.choices)}
    if part.response_id:
        table["response_id"] = part.response_id
    plain, as_json = plain_table(part.changes)
    return table | ({"changes": plain} if plain else {}) | ({"changes_json": as_json} if as_json else {})


def _microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _parent_to_table(parent: Parent) -> dict[str, object]:
    return {
        "run": parent.run,
        "choice": parent.choice,
        "token": parent.token,
        "alternative": parent.alternative,
        "kind": parent.kind,
    }


def _failure_to_table(failure: Failure) -> dict[str, object]:
    table: dict[str, object] = {"title": failure.title}
    texts = {"message": failure.message, "hint": failure.hint, "request_id": failure.request_id}
    table |= {key: text for key, text in texts.items() if text}
    return table | ({} if failure.status is None else {"status": failure.status})


def _request_to_tables(run: Run) -> dict[str, object]:
    body = run.sent or run.request.body()
    plain, as_json = plain_table(body)
    tables: dict[str, object] = {"request": plain}
    if as_json:
        tables["request_json"] = as_json
    # The body alone does not tell a field left unset from one that is always sent.
    if _read_request(body) == run.request:
        return tables
    values = run.request.parameters.values
    unasked = [name for name, of in _ALWAYS_SENT.items() if name in body and of not in values]
    if _read_request(_without(body, unasked)) == run.request:
        return {"unasked": unasked, **tables}
    return {**tables, "asked": _asked(run.request, body)}


def _without(body: JsonObject, names: Sequence[str]) -> JsonObject:
    return {key: value for key, value in body.items() if key not in names}


def _asked(request: Request, body: JsonObject) -> dict[str, object]:
    table: dict[str, object] = {}
    if request.model != body.get("model", ""):
        table["model"] = request.model
    if request.prompt != _read_prompt(body.get("prompt", "")):
        table["prompt"] = prompt_to_json(request.prompt)
    table["parameters"] = request.parameters.to_json()
    plain, as_json = plain_table(request.parameters.extra)
    if plain:
        table["extra"] = plain
    if as_json:
        table["extra_json"] = as_json
    return table


def _read_request(body: JsonObject) -> Request | None:
    try:
        return Request.from_body(body)
    except BadValueError:
        return None


def _read_prompt(value: JsonValue) -> Prompt:
    try:
        return prompt_from_json(value)
    except BadValueError:
        return TextPrompt("")


def run_from_table(fields: Fields) -> Run:
    """The run in a table of a file. Raises BadField naming the key at fault."""
    sent = json_table(fields.table("request").rest(), fields.table("request_json").rest())
    run = Run(
        _request_from_table(fields, sent),
        fields.text("endpoint"),
        fields.text("id"),
        fields.time("started"),
        sent,
        model=fields.text("model"),
        response_id=fields.text("response_id"),
        created=fields.optional_integer("created"),
        outcome=_outcome(fields.text("outcome")),
        preset=fields.text("preset"),
        parent=_parent_from_table(fields.table("parent")) if "parent" in fields else None,
        group=fields.text("group"),
        name=fields.text("name"),
        tags=fields.texts("tags"),
        turn=fields.text("turn"),
        split=_split_from_names(fields.texts("split")),
        parts=tuple(map(_part_from_table, fields.tables("parts"))),
        raw_logprobs=fields.optional_switch("raw_logprobs"),
        notes=list(fields.texts("notes")),
    )
    timing = fields.table("timing")
    first_token = timing.optional_number("first_token")
    run.total = timing.optional_number("total")
    if "usage" in fields:
        usage = fields.table("usage")
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        run.usage = Usage(*(usage.integer(name) for name in names))
    if "error" in fields:
        run.error = _failure_from_table(fields.table("error"))
    texts = dict(_add_choice(run, one) for one in fields.tables("choices"))
    for one in fields.tables("tokens"):
        _add_tokens(run, one)
    for choice in run.choices.values():
        if not len(choice) and (text := texts.get(choice.index)):
            choice.append(Piece(text), first_token or 0.0)
    run.other = json_table(fields.rest())
    return run


def _request_from_table(fields: Fields, sent: JsonObject) -> Request:
    unasked = fields.texts("unasked")
    if "asked" not in fields:
        found = _read_request(_without(sent, unasked))
        if found is None:
            raise BadField("the request of a run is none")
        return found
    asked = fields.table("asked")
    model, prompt = sent.get("model", ""), sent.get("prompt", "")
    if "model" in asked:
        model = asked.text("model")
    left = json_table(asked.rest())
    values, extra, as_json = (left.get(key, {}) for key in ("parameters", "extra", "extra_json"))
    if not (isinstance(values, Mapping) and isinstance(extra, Mapping) and isinstance(as_json, Mapping)):
        raise BadField("what a run asked for is no table")
    try:
        parameters = Parameters.from_json(values, json_table(extra, as_json))
    except BadValueError as error:
        raise BadField(f"what a run asked for: {error.title}") from None
    return Request(_read_prompt(left.get("prompt", prompt)), str(model), parameters)


def _add_choice(run: Run, fields: Fields) -> tuple[int, str]:
    """Add a choice that has no tokens yet; returns its index and its text, in case a person took them out."""
    choice = run.choice(fields.integer("index"))
    choice.finish_reason = fields.text("finish_reason") if "finish_reason" in fields else None
    choice.echoed = fields.integer("echoed")
    return choice.index, fields.text("text")


def _add_tokens(run: Run, fields: Fields) -> None:
    choice = run.choice(fields.integer("choice"))
    add_columns(choice, fields.rest())


def add_columns(choice: Choice, table: Mapping[str, object]) -> None:
    """Add the tokens that a table's columns hold. Raises BadField where they do not fit together."""
    try:
        choice.extend(columns_from_table(table))
    except (ValueError, OverflowError) as error:
        raise BadField(f"the tokens of choice {choice.index}: {error}") from None


def _parent_from_table(fields: Fields) -> Parent:
    run, choice, token = fields.text("run"), fields.integer("choice"), fields.integer("token")
    return Parent(run, choice, token, fields.text("alternative"), fields.text("kind") or "branch")


def _split_from_names(names: Sequence[str]) -> Split | None:
    return Split(*(name in names for name in _SPLITS)) or None


def _part_from_table(fields: Fields) -> SentPart:
    changes = json_table(fields.table("changes").rest(), fields.table("changes_json").rest())
    return SentPart(fields.integers("choices"), changes, fields.text("response_id"))


def _failure_from_table(fields: Fields) -> Failure:
    title, message, hint = fields.text("title"), fields.text("message"), fields.text("hint")
    return Failure(title, message, hint, fields.optional_integer("status"), fields.text("request_id"))


def _outcome(word: str) -> Outcome | None:
    try:
        return Outcome(word) if word else None
    except ValueError:
        raise BadField(f"the outcome {word!r} of a run is none") from None


def plain_table(table: JsonObject) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """A JSON object as TOML can hold it, and apart from it, as JSON text, the keys that hold a null."""
    plain = {key: value for key, value in table.items() if not holds_null(value)}
    rest = {key: json.dumps(_plain(value)) for key, value in table.items() if key not in plain}
    return plain, rest


def json_table(table: Mapping[str, object], as_json: Mapping[str, object] | None = None) -> JsonObject:
    """A TOML table as a JSON object (moments become texts), joined with the keys kept as JSON text."""
    joined = {key: _json(value) for key, value in table.items()}
    for key, text in (as_json or {}).items():
        try:
            joined[key] = json.loads(str(text))
        except ValueError as error:
            raise BadField(f"{key} is no JSON: {error}") from None
    return joined


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _json(value: object) -> JsonValue:
    if isinstance(value, Mapping):
        return {str(key): _json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_json(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
