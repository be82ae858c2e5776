"""Child process that renders chat templates: `python -m workbench.chat.jinja_worker`.

Requests and responses are JSON objects, one per line. Templates are untrusted programs, so this process gets
no secrets, cannot write files or start processes, and has limited memory; its parent kills it on a timeout.
"""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from traceback import walk_tb
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.parser import Parser

_FAILURES = (
    TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Exceptions that template code can raise."""


_FORBIDDEN = (("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0), ("RLIMIT_NPROC", 0))


class RefusedByTemplate(TemplateError):
    """The template called `raise_exception`."""


class TooLong(TemplateError):
    """The output exceeds its limit."""


class StrictSandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which any access to a forbidden attribute raises an error."""

    def unsafe_undefined(self, obj: object, attribute: str) -> NoReturn:
        """Raise SecurityError; Jinja calls this for each forbidden attribute."""
        raise SecurityError(f"access to {attribute!r} of {type(obj).__name__!r} is forbidden")


class GenerationTag(Extension):
    """Renders the body of `{% generation %}`, which marks answers for training."""

    tags = {"generation"}  # noqa: RUF012 - Jinja declares it as an instance's

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return the statements between the tag and its end."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class PublicNamespace(Namespace):
    """Jinja's `namespace` without names that begin with an underscore, which allowed sandbox escapes."""

    def __init__(*args: object, **values: object) -> None:
        """Like Jinja's; without a `self` parameter, so that a template can use the name `self`."""
        own, *mappings = args
        assert isinstance(own, Namespace)
        merged = dict(*mappings, **values)
        for name in merged:
            _check_public(name)
        Namespace.__init__(own, merged)

    def __setitem__(self, name: str, value: object) -> None:
        _check_public(name)
        Namespace.__setitem__(self, name, value)


def _check_public(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot hold {name!r}")


def _raise_exception(message: object) -> None:
    raise RefusedByTemplate(str(message))


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@lru_cache(maxsize=8)
def _compile(source: str) -> Template:
    environment = StrictSandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, LoopControlExtension]
    )
    environment.filters["tojson"] = _tojson
    environment.globals.update(
        raise_exception=_raise_exception, strftime_now=_strftime_now, namespace=PublicNamespace
    )
    return environment.from_string(source)


def _render(source: str, variables: Mapping[str, object], limit: int) -> str:
    parts: list[str] = []
    length = 0
    for part in _compile(source).generate(variables):
        length += len(part)
        if length > limit:
            raise TooLong(f"more than {limit} characters")
        parts.append(part)
    return "".join(parts)


def _answer(request: Mapping[str, Any]) -> dict[str, object]:
    try:
        return {"text": _render(request["template"], request["variables"], request["output_limit"])}
    except _FAILURES as error:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else _line(error.__traceback__)
        return {"error": type(error).__name__, "message": str(error)[:1000], "line": line}


def _line(traceback: TracebackType | None) -> int | None:
    """Return the innermost template line of a traceback rewritten by Jinja; None if there is none."""
    lines = [line for frame, line in walk_tb(traceback) if frame.f_code.co_filename == "<template>"]
    return lines[-1] if lines else None


def _restrict(memory: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    for name, most in (*_FORBIDDEN, ("RLIMIT_AS", memory)):
        # Some systems lack a limit or refuse to lower it.
        with suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (most, most))


def _allow_seconds(seconds: float) -> None:
    """Limit the CPU time of the next request, so that an endless loop ends even without the parent."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    memory, seconds = int(sys.argv[1]), float(sys.argv[2])
    # The parent handles Ctrl+C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _restrict(memory)
    print('{"ready": true}', flush=True)  # noqa: T201 - standard output is the parent's pipe
    for line in sys.stdin.buffer:
        _allow_seconds(seconds)
        print(json.dumps(_answer(json.loads(line))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
