"""Load chat templates from template files, tokenizer configurations, and llama.cpp's `/props`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.chat.jinja_template import JinjaTemplate
from workbench.domain.errors import TemplateError
from workbench.domain.json_values import JsonObject, JsonValue, parse_json

DEFAULT = "default"
"""Name of the template to use if a tokenizer has several."""

_TOKENIZER, _PROCESSOR = "tokenizer_config.json", "chat_template.json"
_TEMPLATE, _ADDITIONAL = "chat_template.jinja", "additional_chat_templates"
_MOST_BYTES = 64_000_000
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")


def load_templates(path: Path) -> Mapping[str, JinjaTemplate]:
    """Load the templates of a file or folder, by name; a single template is named `default`.

    A `.json` file is read as a tokenizer configuration, a folder as a model's folder, and any other file as
    the template itself. `chat_template.jinja` and `chat_template.json` use the special tokens of the
    `tokenizer_config.json` beside them. Raises TemplateError if no template is found.
    """
    try:
        return _load_folder(path) if path.is_dir() else _load_file(path)
    except OSError as error:
        raise TemplateError(f"{path.name} cannot be read", error.strerror or str(error)) from None


def _load_file(path: Path) -> Mapping[str, JinjaTemplate]:
    beside = path.with_name(_TOKENIZER)
    tokens = _object(beside) if path.name in (_TEMPLATE, _PROCESSOR) and beside.exists() else {}
    if path.suffix.lower() != ".json":
        return {DEFAULT: _template(path.name, _read(path), tokens)}
    return templates_from_tokenizer_config({**tokens, **_object(path)}, path.name)


def templates_from_tokenizer_config(config: JsonObject, name: str) -> Mapping[str, JinjaTemplate]:
    """Return the templates of a parsed `tokenizer_config.json`; `name` is its source, for display.

    Raises TemplateError if it has none.
    """
    sources = _sources(config.get("chat_template"))
    if not sources:
        raise TemplateError(
            f"{name} has no chat template",
            "It has no chat_template.",
            "Newer models keep it in chat_template.jinja beside it.",
        )
    return {key: _template(f"{name}: {key}", source, config) for key, source in sources.items()}


CHOOSE_TEMPLATE = "Choose a built-in template, or name the model's tokenizer_config.json."


def template_from_props(props: JsonObject) -> JinjaTemplate:
    """Return the template in the answer to `GET /props` of a llama.cpp server.

    Raises TemplateError if the server reports none.
    """
    source = props.get("chat_template")
    if not isinstance(source, str) or not source:
        raise TemplateError(
            "The server reports no chat template",
            "Its /props has no chat_template.",
            CHOOSE_TEMPLATE,
        )
    return _template("the server's own", source, props)


def _load_folder(folder: Path) -> Mapping[str, JinjaTemplate]:
    """Load a model folder's templates from its template files, else from a configuration file."""
    tokens = _object(folder / _TOKENIZER) if (folder / _TOKENIZER).exists() else {}
    files = {DEFAULT: folder / _TEMPLATE} if (folder / _TEMPLATE).exists() else {}
    files |= {path.stem: path for path in sorted((folder / _ADDITIONAL).glob("*.jinja"))}
    if files:
        return {name: _template(file.name, _read(file), tokens) for name, file in files.items()}
    for file in (folder / _TOKENIZER, folder / _PROCESSOR):
        if file.exists() and "chat_template" in (config := _object(file)):
            return templates_from_tokenizer_config({**tokens, **config}, file.name)
    raise TemplateError(
        f"{folder.name} has no chat template",
        f"There is no {_TEMPLATE}, and no chat_template in a {_TOKENIZER} or {_PROCESSOR}.",
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
        specials=tuple(dict.fromkeys(token for token in (*tokens.values(), *contents) if token.strip())),
        variables={key: value for key, value in tokens.items() if value},
    )


def _sources(value: JsonValue) -> dict[str, str]:
    """Return template sources by name, from a string, `[{"name": …, "template": …}]` or an object by name."""
    if isinstance(value, str):
        return {DEFAULT: value} if value else {}
    if isinstance(value, Mapping):
        return {name: source for name, source in value.items() if isinstance(source, str)}
    found: dict[str, str] = {}
    for entry in value if isinstance(value, list) else ():
        match entry:
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
        raise TemplateError(f"{path.name} is not a text", f"Byte {error.start + 1} is not UTF-8.") from None


def _object(path: Path) -> JsonObject:
    text = _read(path)
    try:
        value = parse_json(text)
    except ValueError as error:
        raise TemplateError(f"{path.name} is not valid JSON", str(error)) from None
    if not isinstance(value, dict):
        raise TemplateError(f"{path.name} is not a tokenizer configuration", "It is not a JSON object.")
    return value
