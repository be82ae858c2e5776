"""Convert a curl command into a draft."""

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
    """A draft made from a curl command."""

    draft: Draft
    notes: tuple[str, ...]
    """Remarks for the person: the endpoint, and that the command's key was left out."""


def draft_from_curl(text: str, loaded: EndpointList) -> CurlDraft:
    """Convert a curl command; its endpoint is the profile with the same address, else the address itself.

    Raises BadValueError if it is not a valid curl command, EndpointError if its URL is invalid.
    """
    command = curl_from_text(text.strip())
    request = command.request
    wanted = normalise(command.url)
    profiles = (profile for profile in loaded.endpoints.values() if profile.base_url)
    known = (profile for profile in profiles if normalise(profile.base_url) == wanted)
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
