"""The suite of tools plays the calls through the whole loop; below it stands what is this tool's own."""

import pytest
from skillkit_core import ToolError
from skillkit_testkit.conformance import ToolConformance

import skillkit_acme
from skillkit_acme import Settings, time_to_read


class TestTool(ToolConformance):
    plugin = skillkit_acme
    calls = {"acme": {"text": "It was a bright cold day in April"}}
    settings = {"acme.words_per_minute": 180}


def test_long_texts_take_minutes():
    assert time_to_read("word " * 690, Settings()) == "690 words, about 3 min"
    assert time_to_read("word " * 690, Settings(words_per_minute=69)) == "690 words, about 10 min"


def test_the_model_is_told_that_there_is_nothing_to_read():
    with pytest.raises(ToolError, match="no words"):
        time_to_read(" ", Settings())
