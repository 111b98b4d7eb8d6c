"""The packs: name, what for, tools; behind the bar those without which the pack is useful."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PACKS", "Pack"]


class Pack(NamedTuple):
    """A pack as data; :class:`skillkit_engines.ToolPack` is made of it."""

    name: str
    description: str
    tools: tuple[str, ...]
    optional: tuple[str, ...] = ()


def _pack(name: str, description: str, tools: str) -> Pack:
    needed, _, more = tools.partition("|")
    optional = tuple(f"{one}_tool" for one in more.split())
    return Pack(name, description, (*(f"{one}_tool" for one in needed.split()), *optional), optional)


PACKS = (
    _pack("capture", "Capture items to the org inbox.", "add_org_inbox_item"),
    _pack("search_local", "Search local documents and images.", "search_documents | search_images"),
    _pack("search_web", "Search the web, and read pages.", "search_web | crawl_web_content"),
    _pack(
        "email_read",
        "Read and search email.",
        "get_emails search_emails | get_email_thread get_email_statistics",
    ),
    _pack("email_send", "Send and answer email; a person is asked first.", "send_email | reply_to_email"),
    _pack("visualization", "Draw charts from data.", "create_chart"),
    _pack("math", "Calculate, and convert units.", "calculate_expression | evaluate_formula convert_units"),
    _pack(
        "document_ops",
        "Read documents, and search within them.",
        "get_document_content | search_within_document get_document_metadata",
    ),
    _pack("document_write", "Create and change documents.", "create_document | append_to_document tag_document"),
    _pack("navigation", "Places and routes.", "list_locations | compute_route"),
    _pack(
        "org_tools",
        "Ask about org-mode files.",
        "list_org_todos | parse_org_structure search_org_headings get_org_statistics",
    ),
    _pack("memory", "Facts that are kept, and values of this session.", "store_fact recall_facts | clipboard_store"),
    _pack(
        "formatting",
        "Shorten, extract, convert and merge texts.",
        "summarize_text | extract_structured_data transform_format merge_texts",
    ),
)
