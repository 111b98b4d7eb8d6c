"""The suite of tools plays the calls through the whole loop; below it stands what is this tool's own."""

import pytest
from skillkit_core import ToolError
from skillkit_testkit.conformance import ToolConformance

import skillkit_acme


class TestTool(ToolConformance):
    plugin = skillkit_acme
    calls = {"acme": {"text": "It was a bright cold day in April"}}


async def test_long_texts_take_minutes():
    assert await skillkit_acme.acme_tool({"text": "word " * 690}, None) == "690 words, about 3 min"


async def test_the_model_is_told_that_there_is_nothing_to_read():
    with pytest.raises(ToolError, match="no words"):
        await skillkit_acme.acme_tool({"text": " "}, None)
