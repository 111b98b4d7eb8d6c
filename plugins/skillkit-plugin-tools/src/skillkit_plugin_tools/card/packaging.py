"""Checks of the package: what is in the wheel, what its metadata say, and which core it is for."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import cast

from skillkit_core import __version__

from .checks import Check, held, skipped, verdict
from .subject import Subject, same

__all__ = ["package_checks"]

TESTS = ("test", "tests", "testing_data")


def package_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks that need no import."""
    yield verdict("contents", "the wheel holds what it names, and no tests", _contents(subject))
    yield verdict("metadata", "people read what it is, and under which licence", _metadata(subject))
    if subject.plugins:
        yield _api(subject)
        yield _typed(subject)


def _contents(subject: Subject) -> Iterator[str]:
    files = set(subject.files)
    if not subject.plugins and not subject.skill_packages:
        yield "no entry point in [skillkit.plugins] or [skillkit.skills]: nobody finds it"
    for name, value in subject.plugins.items():
        module = value.partition(":")[0].replace(".", "/")
        if not {f"{module}.py", f"{module}/__init__.py"} & files:
            yield f"the module {value} of plugin {name!r} is not in the wheel"
    for name in sorted(file for file in files if _is_test(Path(file))):
        yield f"{name} is a test: it would be installed beside the package"
    tops = {Path(file).parts[0] for file in files if file.endswith(".py") and ".dist-info/" not in file}
    for top in sorted(tops & {"src", "docs", "examples", "scripts"}):
        yield f"{top}/ is installed as a package of this name"


def _is_test(path: Path) -> bool:
    if "templates" in path.parts or path.suffix != ".py":
        return False
    return path.parts[0] in TESTS or (path.parts[0] != "skillkit_testkit" and path.name.startswith("test_"))


def _metadata(subject: Subject) -> Iterator[str]:
    said = cast(Message, subject.dist.metadata)
    if not said.get("Summary"):
        yield "there is no description: one line in [project] of pyproject.toml"
    if not (said.get("Description") or said.get_payload()):
        yield 'there is no README: readme = "README.md" in [project]'
    if not (said.get("License-Expression") or said.get("License") or "License ::" in str(said.get_all("Classifier"))):
        yield 'there is no licence: license = "MIT" in [project], for example'
    if not said.get("Requires-Python"):
        yield 'the Python versions are not said: requires-python = ">=3.11"'


def _api(subject: Subject) -> Check:
    name, promise = "api", "it says which versions of skillkit-core it is for"
    if same(subject.name, "skillkit-core"):
        return held(name, promise)
    found = next((one for one in subject.requires if same(one.name, "skillkit-core")), None)
    if found is None:
        return verdict(name, promise, ["skillkit-core is not among its dependencies"])
    wrong = []
    if not found.specifier.contains(__version__, prereleases=True):
        wrong.append(f"{found} leaves out {__version__}, which runs here")
    if not any(one.operator in ("<", "<=", "==", "~=", "===") for one in found.specifier):
        wrong.append(f"{found} has no end: a later core may have other hooks; write <0.2, for example")
    if not any(one.operator in (">", ">=", "==", "~=", "===") for one in found.specifier):
        wrong.append(f"{found} has no beginning: an earlier core lacks hooks")
    return verdict(name, promise, wrong, str(found.specifier))


def _typed(subject: Subject) -> Check:
    name, promise = "typed", "type checkers read its types (py.typed)"
    packages = {Path(file).parts[0] for file in subject.files if file.endswith("/__init__.py")}
    if not packages:
        return skipped(name, promise, "a single module cannot say so; make it a package")
    wrong = [f"{one}/py.typed is missing" for one in sorted(packages) if f"{one}/py.typed" not in subject.files]
    return verdict(name, promise, wrong)
