"""Every tool of the catalogue, as a model calls it: it works, and says what is empty, too large, of another type or refused."""

from __future__ import annotations

import base64
import json
import mailbox
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import Tool
from skillkit_core.frozen import thaw

PLUGINS = (
    "text-tools", "document-tools", "memory-tools", "schedule-tools", "export-tools", "math-tools", "chart-tools", "crawl-tools",
    "mail", "org", "places", "images", "web-tools", "skills",
)  # fmt: skip
for package in PLUGINS:
    pytest.importorskip(f"skillkit_{package.replace('-', '_')}", reason="not every package is installed")
pytest.importorskip("aiosmtpd", reason="a mail server is needed")

DOCUMENT = "---\ntitle: Bees\ntype: note\ntags: [garden]\n---\n\n# Bees\n\nThey dance.\n"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
CALLS: Mapping[str, Mapping[str, Any]] = {
    # utility
    "summarize_text": {"text": "Bees dance. They make honey. They sleep.", "sentences": 1, "method": "rules"},
    "extract_structured_data": {"text": "Due: 2026-02-03", "method": "rules"},
    "transform_format": {"text": "# A", "source": "markdown", "target": "org"},
    "compare_texts": {"a": "x", "b": "y"},
    "merge_texts": {"texts": ["a", "b"]},
    "clipboard_store": {"name": "url", "text": "https://example.org"},
    "clipboard_get": {"name": "url"},
    # documents
    "create_document": {"title": "Ants", "content": "They march.", "folder": "notes"},
    "append_to_document": {"path": "notes/bees.md", "content": "And sing."},
    "list_documents_by_type": {"type": "note"},
    "get_document_metadata": {"path": "notes/bees.md"},
    "tag_document": {"path": "notes/bees.md", "add": ["summer"]},
    "get_document_content": {"path": "notes/bees.md"},
    "search_within_document": {"path": "notes/bees.md", "query": "dance"},
    "search_documents": {"query": "dance"},
    "move_document": {"path": "notes/ants.md", "folder": "old"},
    "list_folders": {},
    "create_user_file": {"path": "notes/plain.md", "content": "x"},
    "create_user_folder": {"path": "new"},
    # memory
    "store_fact": {"topic": "garden", "key": "bees", "value": "two hives"},
    "recall_facts": {"topic": "garden"},
    "get_user_preferences": {"domain": "writing"},
    "get_conversation_summary": {},
    # notices and schedules
    "notify_user": {"text": "Half of it is done."},
    "schedule_reminder": {"text": "Call Ida", "when": "every weekday at 8"},
    "schedule_skill_run": {"request": "Look for news.", "when": "every monday at 7"},
    # export
    "export_to_format": {"content": "# Bees", "path": "out/bees.html"},
    "email_content": {"to": ["ida@example.org"], "subject": "Bees", "content": "They dance."},
    "bookmark_url": {"url": "https://example.org/bees"},
    # packs
    "add_org_inbox_item": {"title": "Buy wax"},
    "search_images": {"query": "hive"},
    "search_web": {"query": "bees"},
    "crawl_web_content": {"url": "SITE/bees"},
    "get_emails": {},
    "search_emails": {"query": "lunch"},
    "get_email_thread": {"id": "<1@example.org>"},
    "get_email_statistics": {},
    "send_email": {"to": ["ida@example.org"], "subject": "Bees", "body": "They dance."},
    "reply_to_email": {"id": "<1@example.org>", "body": "Yes."},
    "create_chart": {"labels": ["a", "b"], "series": [{"values": [1, 2]}], "path": "out/chart.svg"},
    "calculate_expression": {"expression": "2 + 2"},
    "evaluate_formula": {"formula": "a * 2", "values": {"a": 2}},
    "convert_units": {"value": 1, "source": "km", "target": "m"},
    "list_locations": {},
    "compute_route": {"origin": "1, 2", "destination": "1.1, 2.1"},
    "parse_org_structure": {"path": "todo.org"},
    "list_org_todos": {},
    "search_org_headings": {"query": "wax"},
    "get_org_statistics": {},
}  # fmt: skip
"""A call of each that works; the names end with ``_tool``."""


@pytest.fixture
def catalogue(make_host: Callable[..., Any], call_tools: Callable[..., Any], web_site: Any, smtp_server: Any) -> Any:
    """Calls tools in a workspace that has something for each: ``(tools, play(*turns, guarded=..., deny=...))``."""
    for name, text in {
        "notes/bees.md": DOCUMENT,
        "todo.org": "* TODO Buy wax\n",
        "places.yaml": "Home: {latitude: 1, longitude: 2}\n",
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    Path("hive.png").write_bytes(PNG)
    message = EmailMessage()
    message["From"], message["To"], message["Subject"], message["Message-ID"] = (
        "ida@example.org",
        "me@example.org",
        "Lunch",
        "<1@example.org>",
    )
    message.set_content("Lunch?")
    mailbox.Maildir("mail").add(message)
    web_site.page("/bees", "<title>Bees</title><p>They dance.</p>")
    web_site.api(
        "/search",
        lambda asked: {"results": [{"title": "Bees", "url": f"{web_site.base}/bees", "content": "They dance."}]},
    )
    leg = {"distance": 15_000, "duration": 900, "legs": [{"steps": []}]}
    web_site.api("/route/v1/driving/2.0,1.0;2.1,1.1", lambda asked: {"code": "Ok", "routes": [leg]})
    settings = {
        "mail.maildir": "mail", "mail.sender": "me@example.org",
        "mail.smtp": {"host": "127.0.0.1", "port": smtp_server.port, "security": "none"},
        "web.private_hosts": ["127.0.0.1"], "web.search": "searxng", "web.searxng_url": web_site.base, "crawl.pause": 0,
        "navigation.provider": "osrm", "navigation.osrm_url": web_site.base, "schedule.zone": "UTC",
        "tools.allow": [f"{name}_tool" for name in CALLS],
    }  # fmt: skip
    parts = [(name, import_module(f"skillkit_{name.replace('-', '_')}.plugin")) for name in PLUGINS]

    def play(*turns: Any, plugins: Any = (), **more: Any) -> Any:
        return call_tools(make_host(*parts, *plugins, settings={**settings, **more}), *turns)

    host = make_host(*parts, settings=settings)
    tools = {e.item.name: e.item for e in host.tools.entries() if isinstance(e.item, Tool)}
    calls = {
        f"{name}_tool": json.loads(json.dumps(args).replace("SITE", web_site.base)) for name, args in CALLS.items()
    }
    return tools, calls, play


def test_t_1_and_t_2_each_tool_works_and_is_typed_and_annotated(catalogue):
    tools, calls, play = catalogue
    turns: list[Any] = list(calls.items())
    turns.insert(
        [name for name, _ in turns].index("get_conversation_summary_tool") + 1, "All was called."
    )  # the model's
    told = play(*turns)
    assert {one.tool_name: one.text for one in told if one.is_error} == {}
    assert all(one.text.strip() for one in told) and len(told) == len(calls)
    for name in calls:
        schema = thaw(tools[name].parameters)
        assert (
            tools[name].annotations["mutates"] in ("none", "files", "world") and schema["additionalProperties"] is False
        )
        assert all("type" in one or "enum" in one or "anyOf" in one for one in schema["properties"].values()), name


def wrong(schema: Mapping[str, Any]) -> Any:
    """Return a value of a type that a schema does not have."""
    kinds = schema.get("type", "string")
    return {"no": "such"} if "object" not in (kinds if isinstance(kinds, list) else [kinds]) else "no object"


def larger(schema: Mapping[str, Any]) -> Any:
    """Return a value that is larger than a schema allows; ``None``: it has no size."""
    kinds = schema.get("type", "")
    if "maxLength" in schema and "string" in kinds:
        return "x" * (schema["maxLength"] + 1)
    if "maxItems" in schema:
        return ["1"] * (schema["maxItems"] + 1)
    return schema["maximum"] + 1 if "maximum" in schema else None


def test_t_2_wrong_types_and_oversized_values_never_reach_a_tool(catalogue):
    tools, calls, play = catalogue
    turns, unbounded = [], []
    for name, args in calls.items():
        for key, schema in thaw(tools[name].parameters)["properties"].items():
            turns.append((name, {**args, key: wrong(schema)}))
            if (value := larger(schema)) is not None:
                turns.append((name, {**args, key: value}))
            elif schema.get("type") in ("string", "array") and "enum" not in schema and "pattern" not in schema:
                unbounded.append(f"{name}.{key}")
    told = [one for n in range(0, len(turns), 150) for one in play(*turns[n : n + 150])]
    assert len(told) == len(turns) > 150
    assert [(turn[0], one.text) for turn, one in zip(turns, told, strict=True) if "do not fit" not in one.text] == []
    assert unbounded == []


MEANS_SOMETHING = {
    "extract_structured_data_tool": '"urls": []',
    "transform_format_tool": "[the result is empty]",
    "compare_texts_tool": "The texts are identical.",
    "merge_texts_tool": "[the result is empty]",
    "search_images_tool": "hive.png",
}
"""Tools to which an empty value says something, and what they answer; the others refuse it."""


def test_t_2_empty_values_are_refused_or_said_to_be_empty(catalogue):
    tools, calls, play = catalogue
    turns = []
    for name, args in calls.items():
        schema = thaw(tools[name].parameters)
        empty = {"string": " ", "array": [], "object": {}}
        texts = {}
        for key in schema["required"]:
            kinds = schema["properties"][key].get("type", ())
            texts.update((key, value) for kind, value in empty.items() if kind in kinds)
        if texts:
            turns.append((name, {**args, **texts}))
    told = play(*turns)
    assert len(told) == len(turns) > 30
    for (name, _), one in zip(turns, told, strict=True):
        if name in MEANS_SOMETHING:
            assert MEANS_SOMETHING[name] in one.text, name
        else:
            assert one.is_error and one.text.strip(), f"{name}: {one.text}"


def test_t_2_what_a_person_has_denied_does_nothing(catalogue, web_site, smtp_server):
    import skillkit_permissions.plugin

    tools, calls, play = catalogue
    before = sorted(str(path) for path in Path().rglob("*"))
    deny = [tools[name].name for name in calls]
    told = play(
        *calls.items(),
        plugins=[("permissions", skillkit_permissions.plugin)],
        **{"permissions.deny": deny, "tools.allow": []},
    )
    assert [one.tool_name for one in told if not one.is_error] == []
    assert sorted(str(path) for path in Path().rglob("*")) == before
    assert web_site.asked == [] and smtp_server.taken == []
