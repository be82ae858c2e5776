"""A curl command taken over as a draft."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.client.urls import normalise
from workbench.domain.display import one_line
from workbench.domain.prompt import kind_of, prompt_to_editor
from workbench.domain.session import Draft
from workbench.storage.endpoint_list import EndpointList, endpoint_for
from workbench.storage.imports import curl_from_text


@dataclass(frozen=True, slots=True)
class CurlDraft:
    """What a curl command would send, as a draft."""

    draft: Draft
    notes: tuple[str, ...]
    """What a person should know of it: where it goes, and that its key was left out."""


def draft_from_curl(text: str, loaded: EndpointList) -> CurlDraft:
    """The draft of a curl command; it goes to the profile at its address, else to the bare address.

    Raises BadValueError where it is not such a command, EndpointError where its address is not valid.
    """
    command = curl_from_text(text.strip())
    request = command.request
    wanted = normalise(command.url)
    known = (one for one in loaded.endpoints.values() if one.base_url and normalise(one.base_url) == wanted)
    base = f"{wanted.base}?{wanted.query}" if wanted.query else wanted.base
    endpoint = next(known, None) or endpoint_for(base, None, loaded)
    draft = Draft(
        endpoint=endpoint.name,
        model=request.model,
        prompt=prompt_to_editor(request.prompt),
        kind=kind_of(request.prompt),
        parameters=request.parameters,
    )
    notes = [f"It goes to {one_line(endpoint.name, 80)}."]
    if command.had_key:
        instead = "the one that this endpoint names" if endpoint.key else "none"
        notes.append(f"The key in the command was left out; {instead} is sent.")
    return CurlDraft(draft, tuple(notes))
