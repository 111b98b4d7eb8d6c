"""Markdown files as SkillKit's plugins read them: front matter with lines and repairs, folders with origin and trust.

Public names are imported when they are first used (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .about import __version__ as __version__, project_places

if TYPE_CHECKING:
    from .cache import FrontMatterCache as FrontMatterCache
    from .files import FileError as FileError, read_bytes as read_bytes, read_inside as read_inside
    from .folders import (
        Folder as Folder,
        MarkdownFile as MarkdownFile,
        NamedFile as NamedFile,
        Unusable as Unusable,
        collect as collect,
        folders_of as folders_of,
        markdown_files as markdown_files,
    )
    from .front_matter import FrontMatter as FrontMatter, read_front_matter as read_front_matter
    from .key_lines import (
        FileLines as FileLines,
        KeyLine as KeyLine,
        error_line as error_line,
        lines_of_text as lines_of_text,
    )
    from .mending import mended as mended
    from .sentences import REPAIRS as REPAIRS, SENTENCES as SENTENCES, lost as lost, sentence as sentence
    from .text import MAX_BYTES as MAX_BYTES, decode as decode
    from .yaml_text import parse_text as parse_text
    from .yaml_values import Parsed as Parsed, TextYAMLError as TextYAMLError, flag as flag, natural as natural

_WHERE = {
    "FrontMatterCache": "cache",
    "FileError": "files",
    "read_bytes": "files",
    "read_inside": "files",
    "Folder": "folders",
    "MarkdownFile": "folders",
    "NamedFile": "folders",
    "Unusable": "folders",
    "collect": "folders",
    "folders_of": "folders",
    "markdown_files": "folders",
    "FrontMatter": "front_matter",
    "read_front_matter": "front_matter",
    "FileLines": "key_lines",
    "KeyLine": "key_lines",
    "error_line": "key_lines",
    "lines_of_text": "key_lines",
    "mended": "mending",
    "REPAIRS": "sentences",
    "SENTENCES": "sentences",
    "lost": "sentences",
    "sentence": "sentences",
    "MAX_BYTES": "text",
    "decode": "text",
    "parse_text": "yaml_text",
    "Parsed": "yaml_values",
    "TextYAMLError": "yaml_values",
    "flag": "yaml_values",
    "natural": "yaml_values",
}
__all__ = [
    "MAX_BYTES",
    "REPAIRS",
    "SENTENCES",
    "FileError",
    "FileLines",
    "Folder",
    "FrontMatter",
    "FrontMatterCache",
    "KeyLine",
    "MarkdownFile",
    "NamedFile",
    "Parsed",
    "TextYAMLError",
    "Unusable",
    "collect",
    "decode",
    "error_line",
    "flag",
    "folders_of",
    "lines_of_text",
    "lost",
    "markdown_files",
    "mended",
    "natural",
    "parse_text",
    "project_places",
    "read_bytes",
    "read_front_matter",
    "read_inside",
    "sentence",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
