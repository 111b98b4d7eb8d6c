"""``uv-receipt.toml``, in which uv keeps what a tool was installed with, as the words of ``uv tool install``.

``uv tool install`` forgets every ``--with`` that it is not told again, so that what is there must be said as a whole. What cannot
be said again is an error and nothing is changed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from skillkit_core.errors import SkillKitError
from skillkit_core.host.discovery import canonical

NAME = "uv-receipt.toml"
_LISTS = (
    "find-links",
    "extra-index-url",
    "no-build-package",
    "no-binary-package",
    "no-build-isolation-package",
    "no-sources-package",
)
_VALUES = (
    "index-url", "default-index", "index-strategy", "keyring-provider", "resolution", "prerelease", "fork-strategy",
    "exclude-newer", "link-mode", "torch-backend",
)  # fmt: skip
_FILES = {
    "constraints": "--constraints", "overrides": "--overrides", "build-constraint-dependencies": "--build-constraints",
}  # fmt: skip
_FLAGS = ("no-index", "no-sources", "no-build", "no-binary", "no-build-isolation", "compile-bytecode")


class Receipt(NamedTuple):
    """What a tool was installed with.

    Attributes:
        path: path of the receipt.
        tool: the tool's package.
        requirements: the requirements by package, the tool's own too.
        python: the Python that was asked for.
        executables: packages other than the tool whose programs are on the path, too.
        files: requirements by option, for options that take a file.
        options: words for the resolver: indexes and the like.
    """

    path: Path
    tool: str
    requirements: Mapping[str, tuple[str, ...]]
    python: str | None
    executables: frozenset[str]
    files: Mapping[str, tuple[str, ...]]
    options: tuple[str, ...]


def read_receipt(prefix: Path) -> Receipt:
    """Return the receipt of the tool whose environment is at ``prefix``.

    Raises:
        SkillKitError: it holds what this version cannot say again.
    """
    path = prefix / NAME
    try:
        data = tomllib.loads(path.read_text())
        tool: dict[str, Any] = data["tool"]
        requirements = {canonical(entry["name"]): tuple(_words(entry)) for entry in tool["requirements"]}
        main = canonical(prefix.name)
        if main not in requirements:
            main = next(iter(requirements))
        files = {option: tuple(_words(e)[-1] for e in tool[key]) for key, option in _FILES.items() if tool.get(key)}
        executables = frozenset(canonical(e["from"]) for e in tool.get("entrypoints", []) if "from" in e)
        options = tuple(word for key, value in tool.get("options", {}).items() for word in _option(key, value))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise SkillKitError(
            f"cannot carry over what uv has noted: {error}",
            where=str(path),
            hint="say the whole command yourself: uv tool install with every --with",
        ) from error
    return Receipt(path, main, requirements, tool.get("python"), executables - {main}, files, options)


def _words(entry: Mapping[str, Any]) -> list[str]:
    """Return ``[requirement]``, or ``["--editable", path]``."""
    rest = dict(entry)
    name, extras = rest.pop("name"), rest.pop("extras", [])
    full = f"{name}[{','.join(extras)}]" if extras else str(name)
    marker = f" ; {rest.pop('marker')}" if "marker" in rest else ""
    if "editable" in rest:
        words = ["--editable", str(rest.pop("editable"))]
    elif "directory" in rest or "path" in rest:
        words = [f"{full} @ {Path(rest.pop('directory', None) or rest.pop('path')).as_uri()}{marker}"]
    elif "git" in rest:
        words = [f"{full} @ git+{_git(str(rest.pop('git')))}{marker}"]
    elif "url" in rest:
        below = rest.pop("subdirectory", None)
        words = [f"{full} @ {rest.pop('url')}{f'#subdirectory={below}' if below else ''}{marker}"]
    else:
        words = [f"{full}{rest.pop('specifier', '')}{marker}"]
    if rest:
        raise ValueError(f"{name} has {', '.join(rest)}")
    return words


def _git(address: str) -> str:
    """Return uv's address of a repository as requirements say it: ``?rev=v1&subdirectory=x`` is ``@v1#subdirectory=x``."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    said = [query.pop(key) for key in ("rev", "tag", "branch") if key in query]
    below = query.pop("subdirectory", None)
    if query:
        raise ValueError(f"{address} has {', '.join(query)}")
    plain = parts._replace(query="", fragment="").geturl()
    return plain + (f"@{said[0]}" if said else "") + (f"#subdirectory={below}" if below else "")


def _option(key: str, value: Any) -> Iterator[str]:
    """Yield the words of an option."""
    if key == "index":
        for index in value:
            if index.get("explicit"):  # on the command line every index counts for every package
                raise ValueError(f"the index {index['url']} is for some packages only")
            name = f"{index['name']}=" if index.get("name") else ""
            yield from ("--default-index" if index.get("default") else "--index", f"{name}{index['url']}")
    elif key in _LISTS:
        for item in value:
            yield from (f"--{key}", str(item))
    elif key == "exclude-newer-package":
        for package, date in value.items():
            yield from ("--exclude-newer-package", f"{package}={date}")
    elif key in _VALUES:
        yield from (f"--{key}", str(value))
    elif key in _FLAGS:
        if value:
            yield f"--{key}"
    else:
        raise ValueError(f"option {key}")
