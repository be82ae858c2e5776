"""`workbench endpoints`: list, show, set up, test and delete endpoints."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import aclosing

from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.output import print_json
from workbench.cli.parsing import file_name
from workbench.domain.display import one_line, visible
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.runner.connections import Connections
from workbench.runner.endpoint_test import ANNOUNCEMENT, Checked, check
from workbench.storage.endpoint_editing import ENDPOINT_FIELDS, save_endpoint, texts_of, with_texts
from workbench.storage.endpoint_list import EndpointList, delete_endpoint, endpoint_for, load_endpoints
from workbench.storage.files import Folders


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    # The parser of the action checks the arguments after it.
    actions.type = file_name
    show = actions.add_parser("show", help="show every field of an endpoint, as `set` accepts it")
    put = actions.add_parser(
        "set", help="add or change an endpoint: set NAME base_url=https://host/v1 key.environment=MY_KEY"
    )
    test = actions.add_parser("test", help=f"{ANNOUNCEMENT}; prints the models and the answer")
    remove = actions.add_parser("delete", help="delete your profile; the built-in one is used again")
    for action in (show, put, test, remove):
        action.add_argument("name", metavar="NAME", help="the endpoint's name")
    put.add_argument("fields", nargs="+", metavar="FIELD=VALUE", help="an empty value resets the field")
    put.add_argument("--like", default="", metavar="NAME", help="the profile to copy settings from")
    test.add_argument("--model", default="", help="model (default: the profile's, else the first listed)")


def run(arguments: argparse.Namespace) -> int:
    """List, show, set, test or delete endpoints, and return the exit status."""
    folders = Folders.default(os.environ)
    loaded = load_endpoints(folders)
    match arguments.action:
        case "show":
            _show(endpoint_for(arguments.name, None, loaded), as_json=arguments.json)
        case "set":
            _set(folders, loaded, arguments.name, _texts(arguments.fields), arguments.like)
        case "test":
            return _test(endpoint_for(arguments.name, None, loaded), arguments.model, as_json=arguments.json)
        case "delete":
            delete_endpoint(folders, arguments.name)
            print_message(f"{arguments.name} is deleted.", "")
        case _:
            _list(loaded, as_json=arguments.json)
    return ExitStatus.OK


def _list(loaded: EndpointList, *, as_json: bool) -> None:
    if as_json:
        print_json(
            [{"own": name in loaded.own, **_json(profile)} for name, profile in loaded.endpoints.items()]
        )
        return
    from workbench.cli.tables import print_table

    rows = [
        (name, one_line(profile.title, 30), "yours" if name in loaded.own else "", one_line(profile.base_url))
        for name, profile in loaded.endpoints.items()
    ]
    print_table("", ("endpoint", "title", "", "base URL"), rows)
    for name, problem in loaded.broken.items():
        print_message(f"{name} is left out: {problem}")


def _show(endpoint: Endpoint, *, as_json: bool) -> None:
    if as_json:
        print_json(_json(endpoint))
        return
    for name, text in texts_of(endpoint).items():
        print(f"{name}={visible(text)}")


def _json(endpoint: Endpoint) -> dict[str, JsonValue]:
    return {name: text for name, text in texts_of(endpoint).items() if text}


def _texts(fields: Sequence[str]) -> dict[str, str]:
    """Parse FIELD=VALUE arguments. Raises BadValueError for an invalid one."""
    texts: dict[str, str] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals:
            # The error does not repeat the argument, because it may be a key.
            known = ", ".join(editable.name for editable in ENDPOINT_FIELDS)
            raise BadValueError(f"fields are given as FIELD=VALUE, where FIELD is one of {known}")
        texts[name] = value
    return texts


def _set(folders: Folders, loaded: EndpointList, name: str, texts: Mapping[str, str], like: str) -> None:
    if like and like not in loaded.shipped:
        known = ", ".join(loaded.shipped)
        raise BadValueError(f"--like: there is no profile {one_line(like, 40)}", hint=f"Known: {known}.")
    like = like or (name if name in loaded.shipped else "")
    base = loaded.endpoints.get(name) or loaded.shipped.get(like, Endpoint("", ""))._replace(name=name)
    was = name if name in loaded.own else ""
    path = save_endpoint(folders, with_texts(base, texts), loaded, was=was, like=like)
    print_message(f"{path} is written.", "")


def _test(endpoint: Endpoint, model: str, *, as_json: bool) -> int:
    print_message(f"{endpoint.name}: {ANNOUNCEMENT}.", "")
    checked = asyncio.run(_check(endpoint, model, dict(os.environ)))
    if as_json:
        print_json({"good": checked.is_good, "models": list(checked.models), "lines": list(checked.lines)})
    else:
        print("\n".join([*checked.lines, *(f"  {one_line(name)}" for name in checked.models)]))
    return ExitStatus.OK if checked.is_good else ExitStatus.FAILED


async def _check(endpoint: Endpoint, model: str, environment: MutableMapping[str, str]) -> Checked:
    async with aclosing(Connections(environment)) as connections:
        return await check(connections, endpoint, model, on_step=lambda step: print_message(step, "  "))
