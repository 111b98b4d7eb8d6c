"""Plain requests over the files of the workspace, the action that answers each, and words of the right answer."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plain:
    text: str
    skill: str
    action: str
    args: dict[str, Any] = field(default_factory=dict)
    answer: tuple[str, ...] = ()


REQUESTS = [
    Plain("what is 15% of 80", "calculate", "evaluate", {"expression": "15% of 80"}, ("12",)),
    Plain("convert 5 miles to km", "calculate", "evaluate", {"expression": "5 miles to km"}, ("8.04672",)),
    Plain("average price in sales.csv", "csv-stats", "summary", {"file": "sales.csv", "column": "price"}, ("23.3333",)),
    Plain(
        "how many rows are in sales.csv",
        "csv-stats",
        "count",
        {"file": "sales.csv"},
        ("4",),
    ),
    Plain(
        "average price by region in sales.csv",
        "csv-stats",
        "summary",
        {"file": "sales.csv", "column": "price", "by": "region"},
        ("east", "30"),
    ),
    Plain("find duplicate files in photos", "find-duplicates", "find", {"path": "photos"}, ("a.jpg", "b.jpg")),
    Plain("outline of README.md", "markdown-outline", "outline", {"file": "README.md"}, ("Install", "Use")),
    Plain("check the links in README.md", "markdown-outline", "links", {"path": "README.md"}, ("missing.md",)),
    Plain("who changed what since last month", "git-summary", "summary", {"since": "last month"}, ("Ann",)),
    Plain(
        "list the open orders in data.json: orders[?status=='open'].id",
        "json-query",
        "query",
        {"file": "data.json", "query": "orders[?status=='open'].id"},
        ("1", "3"),
    ),
    Plain("what keys does data.json have", "json-query", "shape", {"file": "data.json"}, ("orders", "status")),
    Plain("how many words are in README.md", "text-stats", "stats", {"file": "README.md"}, ("README.md", "words")),
    Plain("what takes up disk space in photos", "disk-usage", "usage", {"path": "photos"}, ("photos",)),
    Plain("2+2", "calculate", "evaluate", {"expression": "2+2"}, ("4",)),
]
NOT_OFFLINE = ["write me a poem about spring", "delete everything", "what is the capital of France", "$(rm -rf ~)"]
