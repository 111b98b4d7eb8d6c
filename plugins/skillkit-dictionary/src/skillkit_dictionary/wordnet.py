"""WordNets of this machine, through the library wn: Open English WordNet and those of many languages (wn.readthedocs.io)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

from .provider import Dictionary, Sense

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["WordNet"]

_PARTS = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}
_LIBRARY = "needs the library wn: pip install 'skillkit-dictionary[wordnet]'"
_DATA = "needs dictionary data: python -m wn download oewn"

# ruff: noqa: D102 - the contract says what the methods do


class WordNet(Dictionary):
    """The wordnets that were downloaded or added with ``wn``."""

    name = "wordnet"

    def __init__(self, host: Host) -> None:
        self._config = host.config.section("dictionary")

    async def usable(self) -> str | None:
        if find_spec("wn") is None:
            return _LIBRARY
        return await asyncio.to_thread(self._lacks)

    def _lacks(self) -> str | None:
        wanted = self._config.wordnet_lexicon
        if self._wn().lexicons(lexicon=wanted or "*"):
            return None
        return _DATA.replace("oewn", wanted) if wanted else _DATA

    async def define(self, word: str) -> Sequence[Sense]:
        return await asyncio.to_thread(self._senses, word)

    def _senses(self, word: str) -> Sequence[Sense]:
        found = self._wn().synsets(word, lexicon=self._config.wordnet_lexicon)
        return [_sense(synset, word) for synset in found]

    def _wn(self) -> Any:
        wn: Any = import_module("wn")  # an extra
        wn.config.allow_multithreading = True  # each call has a thread of its own

        if self._config.wordnet_data:
            from pathlib import Path

            folder = Path(self._config.wordnet_data).expanduser()
            if not folder.is_dir():
                raise ToolError(f"needs dictionary data: dictionary.wordnet_data, {folder}, is no folder")
            wn.config.data_directory = folder
        return wn


def _sense(synset: Any, word: str) -> Sense:
    same = [lemma for lemma in synset.lemmas() if lemma.casefold() != word.casefold()]
    own = [sense for sense in synset.senses() if sense.word().lemma().casefold() == word.casefold()]
    opposites = [other.word().lemma() for sense in own for other in sense.get_related("antonym")]
    return Sense(
        _PARTS.get(synset.pos, str(synset.pos)), synset.definition() or "", tuple(synset.examples()), tuple(same),
        tuple(dict.fromkeys(opposites)),
    )  # fmt: skip
