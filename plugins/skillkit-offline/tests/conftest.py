"""Actions as the skills plugin describes them, written for these tests, and the places where real data may lie."""

import os
from pathlib import Path

import pytest

from skillkit_core.skills import ActionArg, SkillAction
from skillkit_core.tools import Tool


def action(skill, name, description, *, about="", keywords=(), words=(), telling=(), examples=(), order=None, **args):
    """One skill action as a tool, annotated as the skills plugin annotates it."""
    declared = tuple(
        ActionArg(
            arg,
            **{k: tuple(v) if k == "enum" else v for k, v in facts.items() if not k.startswith("x-")},
        )
        for arg, facts in args.items()
    )
    annotations = {
        "skill": skill,
        "action": name,
        "skill_description": about,
        "keywords": list(keywords),
        "words": list(words),
        "telling": list(telling),
        "examples": list(examples),
        "args": args,
    }
    if order is not None:
        annotations["order"] = order
    parameters = SkillAction(name, description, args=declared).parameters
    return Tool(f"{skill}__{name}", description, "nowhere:nothing", parameters, annotations=annotations)


FILE = {"type": "file", "required": True, "position": 1}

TABLE = {
    "about": "Look into CSV tables: columns, averages, rows that match a filter. Use for .csv and .tsv files.",
    "keywords": ["csv", "tsv", "table", "rows", "columns", "average", "median"],
    "examples": [
        "describe the columns of people.csv",
        "how many rows does orders.csv have",
        "rows of people.csv where age > 30",
        "average of price in sales.csv",
        "top 5 rows of sales.csv sorted by amount",
    ],
}
HISTORY = {
    "about": "What happened in a git repository.",
    "keywords": ["git", "commits", "history", "changes", "changed", "authors"],
    "examples": ["what changed since last week", "commits by Ada since 2026-01-01"],
}
LOGS = {
    "about": "Search and show log files.",
    "keywords": ["log", "logs", "errors", "search", "tail", "lines"],
    "examples": ['search server.log for "timeout"', "show the last 50 lines of server.log"],
}
WORDS = {
    "about": "Counts words of texts.",
    "keywords": ["words", "word", "text", "essay"],
    "examples": ["how many words are in essay.txt", 'how often does "whale" occur in moby.txt'],
}
PDF = {
    "about": "Take PDF documents apart and put them together.",
    "keywords": ["pdf", "pages", "merge", "extract"],
    "examples": ["merge a.pdf and b.pdf into all.pdf", "extract pages 2-4 of report.pdf"],
}


ACTIONS = tuple(
    sorted(
        [
            action(
                "table-tools",
                "describe",
                "Describe the columns of a table: type, average, median, smallest and largest value.",
                **TABLE,
                words=["describe", "table", "column", "columns", "average", "median", "mean"],
                order=0,
                file=FILE,
                column={"description": "One column", "x-words": ["of", "column", "of the"]},
            ),
            action(
                "table-tools",
                "count",
                "Count how many rows a table has, or match a filter.",
                **TABLE,
                words=["count", "how many", "how many rows", "count the rows"],
                order=1,
                file=FILE,
                where={"description": "A filter"},
            ),
            action(
                "table-tools",
                "filter",
                "Show the rows of a table that match a filter, sorted, the top ones.",
                **TABLE,
                words=["rows", "table"],
                order=2,
                file=FILE,
                where={},
                sort={},
                limit={"type": "integer", "minimum": 1, "maximum": 1000},
                columns={"type": "array"},
                descending={"type": "boolean"},
            ),
            action(
                "number-crunch",
                "evaluate",
                "Calculate an arithmetic expression or a percentage.",
                about="Exact arithmetic.",
                keywords=["calculate", "percent", "plus", "minus", "times", "divided", "sqrt"],
                examples=["what is 15% of 80", "calculate (3 + 4) * 2", "12 times 12"],
                expression={"required": True, "position": 1, "x-fill": "request"},
            ),
            action(
                "unit-convert",
                "convert",
                "Convert a quantity from one unit of measure to another.",
                about="Unit conversions.",
                keywords=["convert", "units", "miles", "kilometers", "celsius", "fahrenheit"],
                examples=["convert 5 miles to km", "72 fahrenheit in celsius"],
                quantity={"required": True, "position": 1, "x-fill": "request"},
            ),
            action(
                "pdf-pages",
                "merge",
                "Merge several PDF files into one.",
                **PDF,
                files={"type": "array", "required": True, "position": 1},
                output={"type": "file", "required": True},
            ),
            action(
                "pdf-pages",
                "extract",
                "Extract pages of a PDF file.",
                **PDF,
                file=FILE,
                pages={"type": "string", "description": "Such as 2-4"},
            ),
            action(
                "image-resize",
                "resize",
                "Resize a picture to a width in pixels.",
                about="Resizes pictures.",
                keywords=["resize", "image", "picture", "photo", "scale", "width", "png", "jpeg"],
                examples=["resize photo.png to width 800"],
                file=FILE,
                width={"type": "integer", "required": True, "minimum": 1},
                height={"type": "integer"},
                format={"enum": ["png", "jpeg", "webp"]},
                output={"type": "file"},
            ),
            action(
                "log-search",
                "search",
                "Search a log file for a text and show the lines that contain it.",
                **LOGS,
                file=FILE,
                pattern={"required": True, "position": 2},
                **{"ignore-case": {"type": "boolean"}},
            ),
            action(
                "log-search",
                "tail",
                "Show the last lines of a log file.",
                **LOGS,
                file=FILE,
                lines={"type": "integer", "default": 20},
            ),
            action(
                "repo-history",
                "history",
                "What changed in a git repository since a date, by author.",
                **HISTORY,
                path={"type": "file", "default": ".", "position": 1},
                since={},
                until={},
                author={},
                **{"include-merges": {"type": "boolean"}},
            ),
            action(
                "old-backups",
                "delete",
                "Delete backups that are older than some days.",
                about="Removes old backups.",
                keywords=["delete", "remove", "backups", "old"],
                examples=["delete backups in archive older than 30 days"],
                folder={"type": "file", "required": True, "position": 1},
                days={"type": "integer", "required": True},
            ),
            action("word-count", "count", "Count the words of a text file.", **WORDS, order=0, file=FILE),
            action(
                "word-count",
                "find",
                "How often a word or phrase occurs in a text.",
                **WORDS,
                order=1,
                file=FILE,
                word={"required": True, "position": 2},
            ),
            action(
                "tree-view",
                "tree",
                "Show the files and folders below a folder as a tree.",
                about="Folder trees.",
                keywords=["tree", "folder", "folders", "structure"],
                examples=["tree of src", "show the folder tree of docs 2 levels deep"],
                path={"type": "file", "default": ".", "position": 1},
                depth={"type": "integer", "minimum": 1, "maximum": 20},
                hidden={"type": "boolean"},
            ),
        ],
        key=lambda tool: tool.name,
    )
)


@pytest.fixture(scope="session")
def make_action():
    """The function that describes a skill action as a tool."""
    return action


@pytest.fixture(scope="session")
def actions():
    """Fifteen actions of ten skills."""
    return ACTIONS


def project_root():
    """The repository, or None where the tests lie elsewhere."""
    return next((p for p in Path(__file__).resolve().parents if (p / "skillkit_core").is_dir()), None)


def required_or_skip(path, what):
    """``path`` if it is there; else the test is skipped, or fails where CI=true."""
    if path is not None and path.exists():
        return path
    reason = f"{what} is not here ({path})"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared():
    """The folder of shared test data."""
    root = project_root()
    given = os.environ.get("SKILLKIT_SHARED")
    return required_or_skip(Path(given) if given else root and root.parent / "shared", "the shared test data")


@pytest.fixture(scope="session")
def bundled_skills():
    """The folder of the bundled skills."""
    root = project_root()
    given = os.environ.get("SKILLKIT_BUNDLED")
    return required_or_skip(
        Path(given) if given else root and root / "skills" / "skillkit_bundled",
        "the skills of the distribution skillkit-bundled",
    )


@pytest.fixture
def workspace(tmp_path):
    """A workspace with a few files."""
    for name in ("sales.csv", "people.csv", "server.log", "my report.csv", "photo.png", "README"):
        (tmp_path / name).write_text("x\n")
    for name in ("photos", "src", "archive"):
        (tmp_path / name).mkdir()
    return tmp_path
