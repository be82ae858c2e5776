"""Sessions as JSON Lines: one run a line, in the API's format; written for exports and read for imports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import repeat

from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.conversation import conversation_to_json
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonObject, JsonValue, parse_json
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run, Usage
from workbench.domain.session import Session
from workbench.storage.token_columns import are_times
from workbench.storage.toml_files import in_utc


def messages_of(session: Session) -> Mapping[str, list[dict[str, str]]]:
    """Return the messages up to and including each answer, by the id of the answer's run."""
    found: dict[str, list[dict[str, str]]] = {}
    for turn in session.chat.turns.all:
        if turn.run:
            path = session.chat.turns.ending_with(turn.id).path()
            found[turn.run] = conversation_to_json(session.chat.conversation(path, session.variables))
    return found


def to_json_lines(session: Session) -> str:
    """Return one line per run: the response in the API's format, with the request.

    Runs of a conversation also have its `messages`, up to and including the answer.
    """
    messages = messages_of(session)
    lines = [
        {**_run_to_json(run), **({"messages": messages[run.id]} if run.id in messages else {})}
        for run in session.runs
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _run_to_json(run: Run) -> dict[str, JsonValue]:
    record: dict[str, JsonValue] = {
        "id": run.response_id or run.id,
        "object": "text_completion",
        "created": run.created if run.created is not None else int(run.started.timestamp()),
        "model": run.model or run.request.model,
        "choices": [_choice_to_json(choice) for choice in run.ordered],
        # A split request is exported as the single request that it was split from.
        "request": run.request.body() if run.parts else run.bodies[0],
        "endpoint": run.endpoint,
        "run": run.id,
        "started": run.started.isoformat(),
        "outcome": run.outcome.value if run.outcome else None,
    }
    if run.parts:
        record["requests"] = list(run.bodies)
    if run.usage is not None:
        record["usage"] = asdict(run.usage)
    return record


def _choice_to_json(choice: Choice) -> JsonObject:
    tops: list[JsonValue] = [
        {text: _finite(logprob) for text, logprob, *_ in choice.alternatives_of(index)} or None
        for index in range(len(choice))
    ]
    logprobs: JsonObject = {
        "tokens": choice.texts(),
        "token_logprobs": [_finite(choice.logprob_of(index)) for index in range(len(choice))],
        "top_logprobs": tops,
        "text_offset": [choice.start_of(index) for index in range(len(choice))],
    }
    return {
        "text": choice.text,
        "index": choice.index,
        "finish_reason": choice.finish_reason,
        "logprobs": logprobs,
        "arrived": list(choice.at),
    }


def _finite(logprob: float | None) -> float | None:
    # JSON has no infinity; llama.cpp and vLLM write -9999 instead.
    return -9999.0 if logprob == float("-inf") else logprob


def runs_from_json_lines(text: str, name: str) -> list[Run]:
    """Read the runs of a JSON Lines export. Raises StorageError, which names file and line."""
    runs = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                runs.append(_run_from_json(parse_json(line)))
            except BadValueError as error:
                raise _bad(name, error.title, number) from None
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise _bad(name, f"it is not a run of a completions endpoint ({error})", number) from None
    return runs


def _run_from_json(record: JsonValue) -> Run:
    if not isinstance(record, Mapping):
        raise TypeError("not an object")
    if "request" not in record and not isinstance(record.get("choices"), list):
        raise TypeError("it has neither a request nor choices")
    body = record.get("request", {})
    if not isinstance(body, Mapping):
        raise TypeError("its request is not an object")
    run = Run(Request.from_body(body), str(record.get("endpoint", "")), sent=body)
    run.id = str(record.get("run") or run.id)
    if started := record.get("started"):
        run.started = in_utc(datetime.fromisoformat(str(started)))
    run.model, run.response_id = str(record.get("model") or ""), str(record.get("id") or "")
    created = record.get("created")
    run.created = created if isinstance(created, int) and not isinstance(created, bool) else None
    run.outcome = Outcome(str(record.get("outcome") or Outcome.COMPLETE))
    usage = record.get("usage")
    if isinstance(usage, Mapping):
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        run.usage = Usage(*(_integer(usage.get(name)) for name in names))
    for position, choice in enumerate(_list(record.get("choices"))):
        if not isinstance(choice, Mapping):
            raise TypeError("a choice is not an object")
        _add_choice(run.choice(max(_integer(choice.get("index", position)), 0)), choice)
    return run


def _add_choice(choice: Choice, record: JsonObject) -> None:
    reason = record.get("finish_reason")
    choice.finish_reason = None if reason is None else str(reason)
    logprobs = record.get("logprobs")
    listed = logprobs if isinstance(logprobs, Mapping) else {}
    if not isinstance(text := record.get("text"), str):
        raise TypeError("a choice has no text")
    tokens = list(map(str, _list(listed.get("tokens"))))
    if "".join(tokens) != text:
        tokens, listed = [text], {}
    own = _list(listed.get("token_logprobs")) or repeat(None, len(tokens))
    tops = _list(listed.get("top_logprobs")) or repeat(None, len(tokens))
    arrived = [_number(at) or 0.0 for at in _list(record.get("arrived"))]
    times = arrived if len(arrived) == len(tokens) and are_times(arrived) else [0.0] * len(tokens)
    for token, logprob, top, at in zip(tokens, own, tops, times, strict=True):
        others = top.items() if isinstance(top, Mapping) else ()
        alternatives = [Alternative(word, _number(value)) for word, value in others]
        choice.append(ReceivedToken(token, _number(logprob), alternatives), at)


def _list(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list) else []


def _integer(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float("-inf") if value == -9999 else float(value)


def _bad(name: str, why: str, line: int) -> StorageError:
    hint = "Each line is one run as this program exports it."
    return StorageError(f"{name}, line {line}: cannot be imported", why, hint, path=name, line=line)
