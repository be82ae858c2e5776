"""Convert runs to TOML and back: the readable header first, the compact token columns last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue, holds_null, parse_json
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, TextPrompt, prompt_from_json, prompt_to_json
from workbench.domain.request import Request
from workbench.domain.run import Failure, Outcome, Parent, Run, Usage
from workbench.domain.split import SentPart, Split
from workbench.storage.token_columns import MOST_SECONDS, columns_from_table, columns_to_table
from workbench.storage.toml_files import EPOCH, BadField, in_utc, record, table_of, unknown
from workbench.storage.toml_text import sound, toml_column, toml_table

_ALWAYS_SENT = {"max_tokens": "max_tokens", "stream": "stream", "stream_options": "include_usage"}
"""Body fields sent even if unset, with their parameters; `unasked` of a run lists those that were unset."""

RUN_MARK = b"\n[[runs]]\n"
"""The start of every run in a file."""


def run_to_toml(run: Run) -> str:
    """Return a run as a `[[runs]]` section that can be appended to a session file.

    The texts of all choices precede the token columns, so that prompt, parameters and answers can be read
    before any numbers.
    """
    return sound("".join(_run_lines(run)))


def _run_lines(run: Run) -> Iterator[str]:
    yield RUN_MARK.decode()
    yield from toml_table(header_to_table(run), "runs")
    for choice in run.ordered:
        table = _Choice(choice.index, choice.finish_reason, choice.echoed, choice.text)
        yield "\n[[runs.choices]]\n"
        yield from toml_table(table_of(table, "index", "text"))
    for choice in run.ordered:
        if len(choice):
            yield f"\n[[runs.tokens]]\nchoice = {choice.index}\n"
            for name, column in columns_to_table(choice.columns()).items():
                yield f"{name} = {toml_column(column)}\n"


_Count: TypeAlias = Annotated[int, Meta(ge=0)]
_Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=MOST_SECONDS)]


class _Part(Struct, frozen=True):
    choices: tuple[int, ...] = ()
    response_id: str = ""
    changes: dict[str, Any] = {}
    changes_json: dict[str, str] = {}


class _Timing(Struct, frozen=True):
    first_token: _Seconds | None = None
    total: _Seconds | None = None


class _Requested(Struct, frozen=True):
    model: str | None = None
    prompt: Any = None
    parameters: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    extra_json: dict[str, str] = {}


class _Choice(Struct, frozen=True):
    index: _Count = 0
    finish_reason: str | None = None
    echoed: _Count = 0
    text: str = ""


class _Run(Struct, frozen=True):
    """The structure of a run in a file."""

    id: str = ""
    started: datetime = EPOCH
    name: str = ""
    endpoint: str = ""
    model: str = ""
    preset: str = ""
    outcome: Outcome | None = None
    group: str = ""
    turn: str = ""
    response_id: str = ""
    created: int | None = None
    raw_logprobs: bool | None = None
    tags: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    notes: list[str] = []
    parent: Parent | None = None
    unasked: list[str] = []
    request: dict[str, Any] = {}
    request_json: dict[str, str] = {}
    asked: _Requested | None = None
    split: list[str] = []
    parts: list[_Part] = []
    timing: _Timing = _Timing()
    usage: Usage | None = None
    error: Failure | None = None
    choices: list[_Choice] = []
    tokens: list[dict[str, Any]] = []


_SAME = (*_Run.__struct_fields__[: _Run.__struct_fields__.index("unasked")], "usage", "error")
"""Attributes with the same name in `Run` and `_Run`."""
_SPLITS = ("prompts", "choices")


def header_to_table(run: Run) -> dict[str, object]:
    """Return a run's table without its choices."""
    # Rounded like the columns, so that a run recovered from its journal is written identically.
    first_token = None if run.first_token is None else round(run.first_token, 6)
    return {
        **table_of(
            _Run(
                split=[name for name in _SPLITS if getattr(run.split, name, False)],
                parts=[
                    _Part(part.choices, part.response_id, *plain_table(part.changes)) for part in run.parts
                ],
                timing=_Timing(first_token, run.total),
                **_request_to_tables(run),
                **{name: getattr(run, name) for name in _SAME},
            ),
            "id",
            "started",
        ),
        **run.other,
    }


def _request_to_tables(run: Run) -> dict[str, Any]:
    body = run.sent or run.request.body()
    plain, as_json = plain_table(body)
    tables: dict[str, Any] = {"request": plain, "request_json": as_json}
    # The body does not show whether a field that is always sent was set.
    if _read_request(body) == run.request:
        return tables
    values = run.request.parameters.values
    unasked = [name for name, of in _ALWAYS_SENT.items() if name in body and of not in values]
    if _read_request(_without(body, unasked)) == run.request:
        return {"unasked": unasked, **tables}
    return {**tables, "asked": _requested(run.request, body)}


def _without(body: JsonObject, names: Sequence[str]) -> JsonObject:
    return {key: value for key, value in body.items() if key not in names}


def _requested(request: Request, body: JsonObject) -> _Requested:
    return _Requested(
        request.model if request.model != body.get("model", "") else None,
        prompt_to_json(request.prompt) if request.prompt != _read_prompt(body.get("prompt", "")) else None,
        request.parameters.to_json(),
        *plain_table(request.parameters.extra),
    )


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


def run_from_table(table: Mapping[str, Any], where: str = "the run") -> Run:
    """Parse a run's table. Raises BadField, which names the invalid key."""
    file = record(table, _Run, where)
    sent = json_table(file.request, file.request_json)
    values: dict[str, Any] = {name: getattr(file, name) for name in _SAME}
    values |= {"started": in_utc(file.started), "notes": list(file.notes)}
    run = Run(
        _request_of(file, sent),
        sent=sent,
        split=Split(*(name in file.split for name in _SPLITS)) or None,
        parts=tuple(
            SentPart(part.choices, json_table(part.changes, part.changes_json), part.response_id)
            for part in file.parts
        ),
        total=file.timing.total,
        other=json_table(unknown(table, _Run)),
        **values,
    )
    for stored in file.choices:
        run.choice(stored.index).finish_reason = stored.finish_reason
    for columns in file.tokens:
        index = columns.pop("choice", 0)
        if type(index) is not int or index < 0:
            raise BadField(f"{where}: tokens: choice must be a whole number")
        add_columns(run.choice(index), columns)
    for stored in file.choices:
        choice = run.choice(stored.index)
        # The user may have deleted the token columns.
        if stored.text and not len(choice):
            choice.append(ReceivedToken(stored.text), file.timing.first_token or 0.0)
        choice.echoed = min(stored.echoed, len(choice))
    return run


def _request_of(file: _Run, sent: JsonObject) -> Request:
    if file.asked is None:
        found = _read_request(_without(sent, file.unasked))
        if found is None:
            raise BadField("the request of a run is not a request")
        return found
    requested, extra = file.asked, json_table(file.asked.extra, file.asked.extra_json)
    try:
        parameters = Parameters.from_json(json_table(requested.parameters), extra)
    except BadValueError as error:
        raise BadField(f"what a run asked for: {error.title}") from None
    model = sent.get("model", "") if requested.model is None else requested.model
    prompt = sent.get("prompt", "") if requested.prompt is None else msgspec.to_builtins(requested.prompt)
    return Request(_read_prompt(prompt), str(model), parameters)


def add_columns(choice: Choice, table: Mapping[str, object]) -> None:
    """Add the tokens of a table of columns to a choice. Raises BadField if the columns are inconsistent."""
    try:
        choice.extend(columns_from_table(table))
    except (ValueError, OverflowError) as error:
        raise BadField(f"the tokens of choice {choice.index}: {error}") from None


def plain_table(table: JsonObject) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """Split a JSON object into the part that TOML can hold, and JSON texts of the values with a null."""
    plain = {key: value for key, value in table.items() if not holds_null(value)}
    as_json = {key: json.dumps(value, default=dict) for key, value in table.items() if key not in plain}
    return plain, as_json


def json_table(table: Mapping[str, object], as_json: Mapping[str, object] | None = None) -> JsonObject:
    """Convert a TOML table to a JSON object (dates become strings) and add the values kept as JSON text.

    Raises BadField if such a text is not JSON.
    """
    joined: dict[str, JsonValue] = msgspec.to_builtins(table)
    for key, text in (as_json or {}).items():
        try:
            joined[key] = parse_json(str(text))
        except ValueError as error:
            raise BadField(f"{key} is not JSON: {error}") from None
    return joined


def with_runs(body: bytes, old: Run | None, new: Sequence[Run]) -> bytes | None:
    """Replace a run by others in a file's bytes, or append them if `old` is None.

    None if `old` is not found as this program writes it.
    """
    data = "".join(map(run_to_toml, new)).encode()
    if old is None:
        return body + data
    # These bytes cannot occur within a string: they contain quotation marks, which strings escape.
    before, found, after = body.partition(run_to_toml(old).encode())
    return before + data + after if found else None


def with_order(body: bytes, runs: Sequence[Run]) -> bytes | None:
    """Reorder some runs among the positions that they occupy; None if one is not found."""
    parts = body.split(RUN_MARK)
    found = {part: index for index, part in enumerate(parts)}
    texts = [run_to_toml(run).encode().removeprefix(RUN_MARK) for run in runs]
    if not found.keys() >= set(texts):
        return None
    for index, text in zip(sorted(found[text] for text in texts), texts, strict=True):
        parts[index] = text
    return RUN_MARK.join(parts)
