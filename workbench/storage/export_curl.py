"""Export a request as a curl command or a Python program."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType

from workbench.domain.json_values import JsonObject

KEY_VARIABLE = "WORKBENCH_API_KEY"
"""The environment variable that holds the key for exported commands, if the endpoint names none."""


def to_curl(
    body: JsonObject,
    url: str,
    key_variable: str = KEY_VARIABLE,
    *,
    key_header: str = "Authorization",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the request as a curl command that reads the key from an environment variable.

    `key_header` is the header for the key; if empty, no key is sent. `headers` are additional headers.
    """
    beginning = _key_beginning(key_header)
    parts = [f"curl {shlex.quote(url)}", "-H 'Content-Type: application/json'"]
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    if key_header:
        # A header name may contain shell syntax.
        name = re.sub(r'([$`"\\])', r"\\\1", key_header)
        parts.append(f'-H "{name}: {beginning}${_variable(key_variable)}"')
    parts.append(f"--data-raw {shlex.quote(json.dumps(body))}")
    return " \\\n  ".join(parts) + "\n"


def to_python(
    body: JsonObject,
    url: str,
    key_variable: str = KEY_VARIABLE,
    *,
    key_header: str = "Authorization",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the request as a Python program without dependencies that reads the key from the environment.

    `key_header` is the header for the key; if empty, no key is sent. `headers` are additional headers.
    """
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in headers.items()]
    if key_header:
        key = f"{json.dumps(_key_beginning(key_header))} + os.environ[{json.dumps(_variable(key_variable))}]"
        lines.append(f"{json.dumps(key_header)}: {key},")
    sent = "".join(f"        {line}\n" for line in lines)
    return f"""import json
import os
import urllib.request

body = json.loads({json.dumps(json.dumps(body))})
request = urllib.request.Request(
    {json.dumps(url)},
    json.dumps(body).encode(),
    {{
        "Content-Type": "application/json",
{sent}    }},
)
with urllib.request.urlopen(request) as response:
    for line in response:
        print(line.decode(), end="")
"""


def _key_beginning(header: str) -> str:
    return "Bearer " if header.lower() == "authorization" else ""


def _variable(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else KEY_VARIABLE
