"""Reads the metadata of a GGUF file, as far as tests need it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, TypeAlias

Value: TypeAlias = "str | int | float | bool | list[Value]"

_TEXT, _LIST = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_metadata(path: Path) -> dict[str, Value]:
    """The key-value pairs at the beginning of the file."""
    with path.open("rb") as file:
        assert file.read(4) == b"GGUF"
        _version, _tensors, count = struct.unpack("<IQQ", file.read(20))
        return dict(_pair(file) for _ in range(count))


def _pair(file: BinaryIO) -> tuple[str, Value]:
    key = _text(file)
    return key, _value(file, _number(file, "I"))


def _value(file: BinaryIO, kind: int) -> Value:
    if kind == _TEXT:
        return _text(file)
    if kind == _LIST:
        inner = _number(file, "I")
        return [_value(file, inner) for _ in range(_number(file, "Q"))]
    value: Value = struct.unpack(f"<{_NUMBERS[kind]}", file.read(struct.calcsize(_NUMBERS[kind])))[0]
    return value


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "Q")).decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> int:
    value = struct.unpack(f"<{form}", file.read(struct.calcsize(form)))[0]
    assert isinstance(value, int)
    return value
