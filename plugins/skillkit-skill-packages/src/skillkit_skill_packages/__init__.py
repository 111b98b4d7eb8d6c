"""Packages of skills: found, looked at, installed with a lock, and the scan for what attacks look like.

Public names are imported when they are first used (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .archives import read_archive as read_archive
    from .contents import Entry as Entry, File as File, PackageError as PackageError, take as take
    from .digest import files_digest as files_digest
    from .git import fetched as git_entries, latest as latest_commits, redacted as redacted
    from .kept_trust import keeping_trust as keeping_trust
    from .place import (
        place as place_folders,
        read_files as read_files,
        remove as remove_folders,
        safe_name as safe_name,
        write_files as write_files,
    )
    from .report import working as working
    from .scan import FINDINGS as FINDINGS, scan_files as scan_files, scan_skill as scan_skill
    from .source import Source as Source, folder_entries as folder_entries, named as named_source
    from .text_scan import findings as findings

_WHERE = {
    "FINDINGS": "scan",
    "Entry": "contents",
    "File": "contents",
    "PackageError": "contents",
    "Source": "source",
    "files_digest": "digest",
    "findings": "text_scan",
    "folder_entries": "source",
    "git_entries": "git:fetched",
    "keeping_trust": "kept_trust",
    "latest_commits": "git:latest",
    "named_source": "source:named",
    "place_folders": "place:place",
    "read_archive": "archives",
    "read_files": "place",
    "redacted": "git",
    "remove_folders": "place:remove",
    "safe_name": "place",
    "scan_files": "scan",
    "scan_skill": "scan",
    "take": "contents",
    "working": "report",
    "write_files": "place",
}
__all__ = [
    "FINDINGS",
    "Entry",
    "File",
    "PackageError",
    "Source",
    "files_digest",
    "findings",
    "folder_entries",
    "git_entries",
    "keeping_trust",
    "latest_commits",
    "named_source",
    "place_folders",
    "read_archive",
    "read_files",
    "redacted",
    "remove_folders",
    "safe_name",
    "scan_files",
    "scan_skill",
    "take",
    "working",
    "write_files",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, _, own = _WHERE[name].partition(":")
    found = getattr(import_module(f"{__name__}.{module}"), own or name)
    globals()[name] = found
    return found
