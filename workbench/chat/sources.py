"""Where chat templates are found: template files, tokenizers' configurations, and llama.cpp's `/props`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from workbench.chat.jinja_template import JinjaTemplate
from workbench.domain.errors import TemplateError
from workbench.domain.json_values import JsonObject, JsonValue

DEFAULT = "default"
"""The name of the template that is meant where a tokenizer has several."""

_MOST_BYTES = 64_000_000
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")


def load_templates(path: Path) -> Mapping[str, JinjaTemplate]:
    """The templates in a file, by name: one `default`, or all that a `tokenizer_config.json` names.

    A file whose name ends in `.json` is read as a tokenizer's configuration, a folder is searched for
    `tokenizer_config.json` and `chat_template.jinja`, everything else is the template itself.
    Raises TemplateError where nothing usable is found.
    """
    if path.is_dir():
        return _load_folder(path)
    text = _read(path)
    if path.suffix.lower() != ".json":
        return {DEFAULT: JinjaTemplate(path.name, text)}
    return templates_from_tokenizer_config(_object(text, path), str(path.name))


def templates_from_tokenizer_config(config: JsonObject, name: str) -> Mapping[str, JinjaTemplate]:
    """The templates in a parsed `tokenizer_config.json`; `name` says where it came from.

    Raises TemplateError where it holds none.
    """
    sources = _sources(config.get("chat_template"))
    if not sources:
        raise TemplateError(
            f"{name} holds no chat template",
            "There is no chat_template in it.",
            "Newer models keep it in chat_template.jinja beside it.",
        )
    return {key: _template(f"{name}: {key}", source, config) for key, source in sources.items()}


def template_from_props(props: JsonObject) -> JinjaTemplate:
    """The template in the answer of a llama.cpp server's `GET /props`.

    Raises TemplateError where the server tells of none.
    """
    source = props.get("chat_template")
    if not isinstance(source, str) or not source:
        raise TemplateError(
            "The server tells of no chat template",
            "Its /props holds no chat_template.",
            "Choose a built-in template, or name the model's tokenizer_config.json.",
        )
    return _template("the server's own", source, props)


def _load_folder(folder: Path) -> Mapping[str, JinjaTemplate]:
    config_file, template_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    config = _object(_read(config_file), config_file) if config_file.exists() else {}
    if template_file.exists():
        return {DEFAULT: _template(template_file.name, _read(template_file), config)}
    if config:
        return templates_from_tokenizer_config(config, config_file.name)
    raise TemplateError(
        f"{folder.name} holds no chat template",
        "There is neither chat_template.jinja nor tokenizer_config.json in it.",
    )


def _template(name: str, source: str, config: JsonObject) -> JinjaTemplate:
    tokens = {key: _token(config.get(key)) for key in _TOKENS}
    added = config.get("added_tokens_decoder")
    contents = map(_token, added.values()) if isinstance(added, Mapping) else ()
    return JinjaTemplate(
        name,
        source,
        bos=tokens.pop("bos_token"),
        eos=tokens.pop("eos_token"),
        specials=tuple(dict.fromkeys(one for one in (*tokens.values(), *contents) if one.strip())),
        variables={key: value for key, value in tokens.items() if value},
    )


def _sources(value: JsonValue) -> dict[str, str]:
    """One template as a text, or several as `[{"name": …, "template": …}]` or as an object by name."""
    if isinstance(value, str):
        return {DEFAULT: value} if value else {}
    if isinstance(value, Mapping):
        return {name: source for name, source in value.items() if isinstance(source, str)}
    found: dict[str, str] = {}
    for one in value if isinstance(value, list) else ():
        match one:
            case {"name": str(name), "template": str(source)}:
                found[name] = source
    return found


def _token(value: JsonValue) -> str:
    match value:
        case str(text) | {"content": str(text)}:
            return text
        case _:
            return ""


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TemplateError(f"{path.name} is too large to be a template", str(path))
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TemplateError(f"{path.name} cannot be read", error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise TemplateError(f"{path.name} is no text", f"Byte {error.start + 1} is not UTF-8.") from None


def _object(text: str, path: Path) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise TemplateError(f"{path.name} is not valid JSON", str(error)) from None
    except RecursionError:
        raise TemplateError(f"{path.name} is not usable", "It nests too deeply.") from None
    if not isinstance(value, dict):
        raise TemplateError(f"{path.name} is no tokenizer configuration", "It holds no JSON object.")
    return value
