"""Argument parsers and types: texts are UTF-8 in any locale, file names may contain any bytes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from workbench.domain.display import visible
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.parameter_values import whole_number

_LAST_PORT = 65535


class Parser(argparse.ArgumentParser):
    """An argument parser whose options take UTF-8 text, except those of type `file_name`."""

    def __init__(self, prog: str, description: str | None = None, **more: object) -> None:
        """Like argparse's parser, but options cannot be abbreviated."""
        super().__init__(prog, description=description, **{"allow_abbrev": False, **more})  # type: ignore[arg-type]
        self.register("type", None, unicode_text)

    def error(self, message: str) -> NoReturn:
        """Print a message without the long usage, and exit with status 2."""
        lines = visible(message).split("\n")
        errors = "".join(f"{self.prog}: error: {line}\n" for line in lines)
        self.exit(2, f"{errors}Try '{self.prog} --help'.\n")


@contextmanager
def refusing(parser: argparse.ArgumentParser) -> Iterator[None]:
    """Exit with status 2 on a BadValueError, after printing it."""
    try:
        yield
    except BadValueError as problem:
        parser.error(problem.paragraph)


@contextmanager
def naming_files() -> Iterator[None]:
    """Convert StorageError to BadValueError, for files named by arguments."""
    try:
        yield
    except StorageError as problem:
        raise BadValueError(problem.title_with_path, problem.message, problem.hint) from None


def refuse_unused(arguments: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Raise BadValueError for the first option that was given without effect; `why` continues its name."""
    for name in names:
        if getattr(arguments, name):
            raise BadValueError(f"--{name.replace('_', '-')} {why}", field=name)


def file_name(text: str) -> str:
    """The `type` of an option that takes a file name, which need not be UTF-8."""
    return text


def unicode_text(text: str) -> str:
    """The default `type` of options. Raises ArgumentTypeError for bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raw = os.fsencode(text[error.start : error.start + 1])
        shown = visible(text[:60])
        raise argparse.ArgumentTypeError(f"byte 0x{raw.hex()} in '{shown}' is not UTF-8") from None
    return text


def port_number(text: str) -> int:
    """The `type` of an option that takes a TCP port. Raises ArgumentTypeError."""
    if (number := whole_number(text)) is None or number > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a whole number from 0 to {_LAST_PORT}")
    return number


def positive(text: str) -> int:
    """The `type` of an option that takes a whole number above 0. Raises ArgumentTypeError."""
    if not (number := whole_number(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number
