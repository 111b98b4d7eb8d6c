"""The tools of images: real files, a server of the images API on loopback, and a model that looks."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import ClassVar

import pytest
import skillkit_images.plugin
import skillkit_permissions.plugin
import skillkit_web_tools.plugin
from skillkit_testkit.conformance import ToolConformance

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class TestConformance(ToolConformance):
    plugin = skillkit_images.plugin
    calls: ClassVar = {"search_images_tool": {"query": "fox"}}


@pytest.fixture
def call(make_host, call_tools):
    def calls(*turns, settings=None, plugins=()):
        given = {"tools.allow": ["generate_image_tool"], **(settings or {})}
        parts = [("images", skillkit_images.plugin), ("web-tools", skillkit_web_tools.plugin), *plugins]
        return call_tools(make_host(*parts, settings=given), *turns)

    return calls


@pytest.fixture
def maker(web_site, monkeypatch):
    """The images API, and the settings that lead there."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-images-loopback")
    data = base64.b64encode(PNG).decode()
    web_site.api("/v1/images/generations", lambda asked: {"data": [{"b64_json": data, "revised_prompt": "a red fox"}]})
    return {"images.provider": "openai-images", "images.base_url": f"{web_site.base}/v1"}


@pytest.mark.smoke
def test_a_picture_is_made_put_into_a_file_found_and_described(call, maker, web_site):
    made, again, found, told = call(
        ("generate_image_tool", {"prompt": "A fox in the snow!", "size": "512x512"}),
        ("generate_image_tool", {"prompt": "A fox in the snow!"}),
        ("search_images_tool", {"query": "FOX images"}),
        ("describe_image_tool", {"path": "images/a-fox-in-the-snow.png"}),
        "A single pixel.",
        settings=maker,
    )
    assert made.text == "The picture is in images/a-fox-in-the-snow.png.\nIt was made from: a red fox"
    assert again.details["path"] == "images/a-fox-in-the-snow-2.png"
    assert Path("images/a-fox-in-the-snow.png").read_bytes() == PNG and len(found.text.splitlines()) == 2
    assert told.text == "A single pixel."
    assert web_site.asked[0].bearer == "sk-images-loopback"
    assert web_site.json(web_site.asked[0]) == {
        "model": "gpt-image-1",
        "prompt": "A fox in the snow!",
        "size": "512x512",
        "n": 1,
    }


def test_what_is_no_picture_is_told_in_words(call, maker, web_site):
    Path("text.png").write_text("no picture")
    web_site.api("/v1/images/generations", lambda asked: {"data": [{"b64_json": "aGVsbG8="}]})
    missing, text, folder, odd = call(
        ("describe_image_tool", {"path": "none.png"}),
        ("describe_image_tool", {"path": "text.png"}),
        ("search_images_tool", {"query": "", "path": "none"}),
        ("generate_image_tool", {"prompt": "x"}),
        settings=maker,
    )
    assert "there is no picture none.png" in missing.text and "is no PNG, JPEG, GIF or WebP" in text.text
    assert "is no folder" in folder.text and "gave no PNG" in odd.text and not Path("images").exists()


def test_without_a_provider_or_its_key_it_is_said_what_is_needed(call, monkeypatch):
    turn = ("generate_image_tool", {"prompt": "x"})
    (bare,) = call(turn)
    assert bare.text == "needs images.provider in the configuration, one of: openai-images"
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (keyless,) = call(turn, settings={"images.provider": "openai-images"})
    assert keyless.text == "openai-images needs the key OPENAI_API_KEY"


def test_nothing_is_sent_or_written_where_permissions_do_not_allow_it(call, maker, web_site):
    guard = [("permissions", skillkit_permissions.plugin)]
    turn = ("generate_image_tool", {"prompt": "x", "path": "images/x"})
    (asked,) = call(turn, settings=maker, plugins=guard)
    assert asked.outcome == "denied"
    allowed = {**maker, "permissions.allow": ["WebFetch(domain:127.0.0.1)"]}
    (file,) = call(turn, settings={**allowed, "permissions.deny": ["Edit(images/**)"]}, plugins=guard)
    assert file.outcome == "denied" and web_site.asked == [] and not Path("images").exists()
    (made,) = call(turn, settings=allowed, plugins=guard)
    assert made.text.startswith("The picture is in images/x.png")
