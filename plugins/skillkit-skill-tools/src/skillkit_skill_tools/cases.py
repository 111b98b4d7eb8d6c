"""The tests that a skill brings: the file ``evals/tests.yaml``, and what it may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillkit_core.errors import UsageError

__all__ = ["FILE", "ActionCase", "Expected", "SkillCases", "TriggerCase", "cases_file", "read_cases"]

FILE = "evals/tests.yaml"
_MOST = 1 << 20  # bytes


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Prepared(_Strict):
    """What a case finds in its workspace, a folder of its own.

    Attributes:
        name: what the case is called; default: what it does.
        files: text by path.
        copied: paths below the skill's folder, which keep their names.
    """

    name: str = ""
    files: dict[str, str] = Field(default_factory=dict)
    copied: list[str] = Field(default_factory=list, alias="copy")


class Expected(_Strict):
    """How an action ends; what is not said does not matter, but for ``ok``.

    Attributes:
        ok: whether it works.
        error: ``exit-code:2``, ``timeout``, ..., or a part of what is said when it cannot start.
        exit: exit status.
        text: its whole output, without white space around it.
        contains: what its output contains.
        data: its output as JSON; of a mapping the keys that are named.
        file: the path that it gives.
        files: text by path that the workspace then holds.
    """

    ok: bool | None = None
    error: str | None = None
    exit: int | None = None
    text: str | None = None
    contains: str | list[str] = ()  # type: ignore[assignment]
    data: Any = None
    file: str | None = None
    files: dict[str, str] = Field(default_factory=dict)


class ActionCase(_Prepared):
    """A call of an action."""

    action: str
    args: dict[str, Any] = Field(default_factory=dict)
    expect: Expected = Expected()

    @property
    def title(self) -> str:
        """The name of the case."""
        return self.name or " ".join([self.action, *(f"{k}={v}" for k, v in self.args.items())])


class TriggerCase(_Prepared):
    """A request for which the skill is chosen among all that are installed, or is not.

    Attributes:
        query: the request.
        should_trigger: whether the skill is chosen.
        action: the action that is called, if one has to be.
        args: arguments of that call; those that are named.
    """

    query: str
    should_trigger: bool = True
    action: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the case."""
        return self.name or self.query


class SkillCases(_Strict):
    """All cases of a file."""

    actions: list[ActionCase] = Field(default_factory=list)
    triggers: list[TriggerCase] = Field(default_factory=list)

    def __len__(self) -> int:
        return len(self.actions) + len(self.triggers)


def cases_file(folder: Path) -> Path | None:
    """Return the file with the tests of the skill in ``folder``, or ``None``."""
    path = folder / FILE
    return path if path.is_file() else None


def read_cases(path: Path) -> SkillCases:
    """Return the cases of a file.

    Raises:
        UsageError: the file cannot be read, or a case is wrong. The error names the line, or the path of the key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if len(text) > _MOST:
            raise UsageError("the file is larger than 1 MiB", where=str(path))
        return SkillCases.model_validate(yaml.safe_load(text) or {})
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(path)) from None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise UsageError(f"is not YAML: {error.problem}", where=f"{path}{line}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{key}: {first['msg']}", where=f"{path}{_line(text, first['loc'])}") from None


def _line(text: str, place: tuple[int | str, ...]) -> str:
    """Return ``:LINE`` of the key or item at ``place``."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 0
    for step in place:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == step), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line
    return f":{line + 1}"
