"""Requests: a model, a prompt and parameters, and the JSON body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.parameter_table import FIELDS, PARAMETERS
from workbench.domain.parameter_values import value_to_json
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, count_prompts, prompt_from_json, prompt_to_json


class Request(NamedTuple):
    """A completion request."""

    prompt: Prompt
    model: str = ""
    """The model's name; not sent if empty."""
    parameters: Parameters = Parameters()

    def body(
        self, aliases: Mapping[str, str] | None = None, drop: frozenset[str] = frozenset()
    ) -> dict[str, JsonValue]:
        """Return the JSON body: the set fields, and always `max_tokens` and `stream`.

        A streamed request also has `stream_options`. `aliases` maps API field names to the endpoint's names;
        `drop` omits fields. `extra` is merged last, without renaming.
        """
        # A dropped best_of does not prevent streaming.
        held = self.parameters.set("best_of", None) if "best_of" in drop else self.parameters
        streams = held.streams
        body: dict[str, JsonValue] = {"model": self.model} if self.model else {}
        body["prompt"] = prompt_to_json(self.prompt)
        for parameter in PARAMETERS:
            value = self.parameters.sent(parameter.name)
            if value is None or parameter.name in drop or parameter.name in ("stream", "include_usage"):
                continue
            body[(aliases or {}).get(parameter.name, parameter.name)] = value_to_json(value)
        if "stream" not in drop:
            body["stream"] = streams
        if streams and "include_usage" not in drop:
            body["stream_options"] = {"include_usage": self.parameters.sent("include_usage") is True}
        return {**body, **self.parameters.extra}

    @staticmethod
    def from_body(body: JsonObject) -> Request:
        """Parse a body; fields that are not in `FIELDS` become `extra`.

        The inverse of `body()` without aliases. Raises BadValueError for a value of the wrong type.
        """
        known = {parameter.name for parameter in PARAMETERS}
        table: dict[str, JsonValue] = {
            name: value for name, value in body.items() if name in known and value is not None
        }
        extra = {name: value for name, value in body.items() if name not in known and name not in FIELDS}
        options = extra.pop("stream_options", None)
        if isinstance(options, Mapping) and isinstance(options.get("include_usage"), bool):
            table["include_usage"] = options["include_usage"]
        model = body.get("model")
        return Request(
            prompt_from_json(body.get("prompt", "")),
            model if isinstance(model, str) else "",
            Parameters.from_json(table, extra),
        )

    @property
    def choices(self) -> int:
        """The number of choices the endpoint should return."""
        return count_prompts(self.prompt) * int(self.parameters.number("n", 1))

    @property
    def billed_tokens(self) -> int:
        """The maximum number of tokens generated and billed: prompts × max(n, best_of) × max_tokens."""
        each = max(self.parameters.number("n", 1), self.parameters.number("best_of", 1))
        return int(count_prompts(self.prompt) * each * self.parameters.max_tokens)
