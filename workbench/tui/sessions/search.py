"""Finding a session by a few letters of its title, tags, prompts or answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.storage.library import Listed

_TITLE, _TEXT, _LETTERS_OF_TITLE, _LETTERS_OF_TEXT = 8, 4, 2, 1


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A session and what is searched of it."""

    listed: Listed
    title: str
    """Title, file name and tags, in lower case."""
    text: str
    """The beginning of its prompts and answers, in lower case."""

    @staticmethod
    def of(listed: Listed) -> SearchEntry:
        """A session made ready to be searched."""
        title = "\n".join((listed.title, Path(listed.path).stem, *listed.tags)).casefold()
        return SearchEntry(listed, title, listed.text.casefold())


def ranked(entries: Iterable[SearchEntry], words: str) -> Sequence[Listed]:
    """The sessions in which every word is found, the best first; equally good ones keep their order.

    A word is found where it stands, or where its letters begin a word and go on in it, in their order
    (`lhs` in lighthouse). A title counts for more than a text.
    """
    wanted = [(word, _letters_of(word)) for word in words.casefold().split()]
    found = []
    for entry in entries:
        scores = [_score(entry, word, letters) for word, letters in wanted]
        if all(scores):
            found.append((sum(scores), entry.listed))
    found.sort(key=lambda one: one[0], reverse=True)
    return [listed for _, listed in found]


def _letters_of(word: str) -> re.Pattern[str]:
    # A gap never holds the letter that ends it, so that no text makes the search go back.
    first, *others = map(re.escape, word)
    return re.compile(rf"(?<!\w){first}" + "".join(rf"[^\W{one}]*+{one}" for one in others))


def _score(entry: SearchEntry, word: str, letters: re.Pattern[str]) -> int:
    if word in entry.title:
        return _TITLE
    if word in entry.text:
        return _TEXT
    if letters.search(entry.title):
        return _LETTERS_OF_TITLE
    return _LETTERS_OF_TEXT if letters.search(entry.text) else 0
