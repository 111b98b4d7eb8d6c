"""A stage for engines: a host with the family, skills on the disk, and a model that answers by script.

The fixtures ``engine_skill`` and ``engine_stage`` are made of it; it needs ``skillkit-engines`` (the extra ``engines``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.testing import ScriptedModel

__all__ = ["FAMILY", "Stage", "installed", "write_engine_skill"]

FAMILY = ("skills", "engines")
"""The plugins without which no engine runs."""


def installed(name: str) -> tuple[str, Any]:
    """Return an installed plugin as a host takes it: its name and what its entry point names.

    Raises:
        LookupError: no such plugin is installed.
    """
    found = tuple(entry_points(group="skillkit.plugins", name=name))
    if not found:
        raise LookupError(
            f"the plugin {name!r} is not installed: install the package that brings it, with its dependencies"
        )
    return name, found[0].load()


def write_engine_skill(
    folder: Path, name: str, description: str = "", *, body: str | None = None, **fields: Any
) -> Path:
    """Write a skill into a folder of skills, and return its file; what is there is replaced.

    Args:
        folder: the folder of skills.
        name: the name.
        description: the description; default: ``Does NAME.``
        body: the text below the head; default: ``Do NAME.``
        fields: the fields for engines, those of ``metadata.skillkit``: ``engine="automation", tools=["look"]``. ``None``:
            the field is left out.
    """
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    about = {field: value for field, value in fields.items() if value is not None}
    head = {"name": name, "description": description or f"Does {name}.", "metadata": {"skillkit": about}}
    text = f"Do {name}." if body is None else body
    file.write_text(f"---\n{json.dumps(head)}\n---\n{text}\n", encoding="utf-8")
    return file


class Stage:
    """Makes hosts with the family, and agents over them; calling it makes an agent and its model.

    Attributes:
        skills: the folder of skills.
    """

    def __init__(self, make_host: Callable[..., Host], skills: Path, plugins: Iterable[Any]) -> None:
        self._make_host, self._plugins = make_host, tuple(plugins)
        self.skills = skills

    def host(self, *, plugins: Sequence[Any] = (), settings: Mapping[str, Any] | None = None) -> Host:
        """Make a host: the family, the plugins of the stage, and ``plugins``: names of installed ones, or pairs."""
        named = [*FAMILY, *self._plugins, *plugins]
        given = [installed(one) if isinstance(one, str) else one for one in named]
        return self._make_host(*given, settings={"skills.dirs": [str(self.skills)], **(settings or {})})

    def __call__(
        self,
        *turns: Any,
        tools: Iterable[Any] | None = None,
        plugins: Sequence[Any] = (),
        settings: Mapping[str, Any] | None = None,
        session: str | None = None,
        **config: Any,
    ) -> tuple[AgentRunner, ScriptedModel]:
        """Make an agent and its model.

        Args:
            turns: what the model answers, in order (:class:`~skillkit_core.testing.ScriptedModel`).
            tools: the tools of the agent; default: those of the host.
            plugins: plugins beside those of the stage.
            settings: settings of the host, by dotted name.
            session: as for :class:`~skillkit_core.AgentRunner`: ``"new"`` keeps it on the disk.
            config: more of :class:`~skillkit_core.AgentConfig`.
        """
        from skillkit_core import AgentConfig, AgentRunner, RetryPolicy
        from skillkit_core.testing import ScriptedModel

        if tools is not None:
            config["tools"] = tuple(tools)
        given = AgentConfig(model="any", retry=RetryPolicy(attempts=1), **config)
        agent = AgentRunner(given, host=self.host(plugins=plugins, settings=settings), session=session)
        model = ScriptedModel(turns)
        agent.set_adapter(model)
        return agent, model
