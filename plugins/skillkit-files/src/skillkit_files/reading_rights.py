"""Where an agent may read: its workspace, the folders of its active skills, and what other plugins leave open of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.descriptors import load_object

from .folder import FileError, Folder

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .stand_in import AgentStandIn

__all__ = ["filters_of", "place_of", "readable", "skill_folders"]

_CALLED = '<skill_content name="'
_NAME = re.compile(rf'^{_CALLED}([^"\n]+)">$', re.M)


def place_of(agent: AgentRunner | AgentStandIn, path: str) -> tuple[Folder, str]:
    """Return the folder that a file is read from, and its place there.

    Raises:
        FileError: the path is neither in the workspace nor in the folder of an active skill.
    """
    folder = Folder(agent.cwd)
    try:
        return folder, folder.locate(path)
    except FileError as error:
        if error.code != "outside_root" or not path.startswith("/"):
            raise
        for skill in skill_folders(agent):
            other = Folder(skill)
            try:
                return other, other.locate(path)
            except FileError:
                continue
        raise error


def skill_folders(agent: AgentRunner | AgentStandIn) -> Iterator[Path]:
    """Yield the folders of the skills that are active: from the start, since a call of ``activate_skill`` or one of a person."""
    from .stand_in import AgentStandIn

    if isinstance(agent, AgentStandIn):
        yield from agent.skills
        return
    skills = agent.host.skills
    names = list(agent.config.skills)
    for message in agent.messages:
        if message.role == "user" and message.text.startswith(_CALLED):  # a person called the skills in it
            names += [unescape(name) for name in _NAME.findall(message.text)]
            continue
        details = getattr(message, "details", None)
        if (
            getattr(message, "tool_name", "") == "activate_skill"
            and isinstance(details, Mapping)
            and details.get("content")
        ):
            names.append(str(details.get("skill")))
    for name in names:
        if skills.has(name) and (path := skills.get(name).path) is not None:
            yield path


def filters_of(agent: AgentRunner, tool: str) -> list[Callable[[str], bool]]:
    """Return the filters that leave out something, as the plugins say that bring ``file_filters``."""
    made = [load_object(entry.item.create)(agent, tool) for entry in agent.host.registry("file_filters").entries()]
    return [allows for allows in made if allows is not None]


def readable(agent: AgentRunner | AgentStandIn, root: str, tool: str) -> Callable[[str], bool]:
    """Return whether a file below ``root`` may be read. A filter that fails, fails the search."""
    from .stand_in import AgentStandIn

    if isinstance(agent, AgentStandIn):
        return agent.readable(root, tool)
    filters = filters_of(agent, tool)
    return lambda path: all(allows(f"{root}/{path}") for allows in filters)
