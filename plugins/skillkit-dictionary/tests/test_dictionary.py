"""The tool of the dictionary: a wordnet of three words that lies on this machine, and a dictionary of another plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import skillkit_dictionary.plugin
from skillkit_dictionary import Dictionary, Sense
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import Factory, hookimpl

WORDNET = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">
<LexicalResource xmlns:dc="http://purl.org/dc/elements/1.1/">
  <Lexicon id="tiny" label="Tiny" language="en" email="tiny@example.org" license="https://example.org" version="1">
    <LexicalEntry id="w1"><Lemma writtenForm="ephemeral" partOfSpeech="a"/><Sense id="s1" synset="tiny-1-a">
      <SenseRelation relType="antonym" target="s3"/></Sense></LexicalEntry>
    <LexicalEntry id="w2"><Lemma writtenForm="short-lived" partOfSpeech="a"/><Sense id="s2" synset="tiny-1-a"/></LexicalEntry>
    <LexicalEntry id="w3"><Lemma writtenForm="lasting" partOfSpeech="a"/><Sense id="s3" synset="tiny-2-a"/></LexicalEntry>
    <Synset id="tiny-1-a" ili="" partOfSpeech="a" members="s1 s2"><Definition>lasting a very short time</Definition>
      <Example>ephemeral pleasures</Example></Synset>
    <Synset id="tiny-2-a" ili="" partOfSpeech="a" members="s3"><Definition>existing for a long time</Definition></Synset>
  </Lexicon>
</LexicalResource>
"""


class Words(Dictionary):
    """A dictionary of another plugin."""

    name = "words"

    async def define(self, word: str) -> Any:
        return [Sense("noun", f"a {word}")]


class WordsPlugin:
    @hookimpl(optionalhook=True)
    def register_dictionaries(self, register):
        register(Factory("words", lambda host: Words()))


class TestConformance(ToolConformance):
    plugin = skillkit_dictionary.plugin
    calls: ClassVar = {"define_word_tool": {"word": "bee"}}

    @pytest.fixture
    def tool_host(self, make_host):
        return make_host(
            ("dictionary", self.plugin), ("words", WordsPlugin()), settings={"dictionary.provider": "words"}
        )


@pytest.fixture
def define(make_host, call_tools):
    """Looks a word up, and returns the result."""

    def calls(word, settings):
        host = make_host(("dictionary", skillkit_dictionary.plugin), settings=settings)
        return call_tools(host, ("define_word_tool", {"word": word}))[0]

    return calls


@pytest.mark.smoke
def test_a_word_is_defined_by_a_wordnet_of_this_machine(define, tmp_path):
    wn = pytest.importorskip("wn")
    data = tmp_path / "wordnets"
    data.mkdir()
    wn.config.data_directory = data
    wn.config.allow_multithreading = True
    Path("tiny.xml").write_text(WORDNET)
    wn.add("tiny.xml", progress_handler=None)
    settings: ClassVar = {"dictionary.provider": "wordnet", "dictionary.wordnet_data": str(data)}
    assert define(" ephemeral ", settings).text.splitlines() == [
        "1. (adjective) lasting a very short time", "   example: ephemeral pleasures", "   synonyms: short-lived",
        "   opposites: lasting", "(from wordnet)",
    ]  # fmt: skip
    assert define("unheard", settings).text == "wordnet does not know 'unheard'.\n(from wordnet)"
    lacking = define("x", {**settings, "dictionary.wordnet_lexicon": "oewn:2024"})
    assert lacking.is_error and lacking.text == "wordnet needs dictionary data: python -m wn download oewn:2024"


def test_without_a_dictionary_its_data_or_its_library_it_is_said_what_is_needed(define, monkeypatch, tmp_path):
    bare = define("bee", {})
    assert bare.is_error and bare.text == "needs dictionary.provider in the configuration, one of: wordnet"
    assert "needs a dictionary 'x'" in define("bee", {"dictionary.provider": "x"}).text
    monkeypatch.setattr("skillkit_dictionary.wordnet.find_spec", lambda name: None)
    assert "pip install 'skillkit-dictionary[wordnet]'" in define("bee", {"dictionary.provider": "wordnet"}).text
    monkeypatch.undo()
    gone = {"dictionary.provider": "wordnet", "dictionary.wordnet_data": str(tmp_path / "gone")}
    assert "is no folder" in define("bee", gone).text
