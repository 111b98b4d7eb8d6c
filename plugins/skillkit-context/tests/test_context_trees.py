"""Trees of context files, each with the sections that a model must be told, and what must be left out."""

import functools
import importlib.util
import json
import os
from pathlib import Path

import pytest
from skillkit_context import Settings, load
from skillkit_testkit.shared import find_shared

RENAMED = {"per_directory": "per_folder"}


@functools.cache
def folder():
    shared = find_shared(Path(__file__).parent, os.environ.get("SKILLKIT_SHARED"))
    return None if shared is None or not (shared / "context" / "trees.json").exists() else shared / "context"


@functools.cache
def checker():
    spec = importlib.util.spec_from_file_location("context_trees", folder() / "lib" / "trees.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases():
    found = json.loads((folder() / "trees.json").read_text()) if folder() else []
    return [pytest.param(c, id=c["id"]) for c in found] or [pytest.param(None, id="absent")]


def answer(order, base, home, cwd, given):
    base = base.resolve()
    values = {RENAMED.get(k, k): tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    trusted, user_on = values.pop("trusted"), values.pop("user_on")
    values["user_files"] = tuple(f"~/{name}" for name in values["user_files"]) if user_on else ()
    found = load(
        cwd, Settings(**values, order=order), home=home, config_dir=home / "nothing", trusted=lambda *_: trusted
    )
    return {
        "sections": [
            {"path": s.path.relative_to(base).as_posix(), "text": s.text, "truncated": s.truncated}
            for s in found.sections
        ],
        "left_out": [{"path": x.path.relative_to(base).as_posix(), "reason": x.reason} for x in found.left_out],
    }


@pytest.mark.parametrize("order", ["nearest-first", "nearest-last"])
@pytest.mark.parametrize("case", cases())
def test_a_tree_gives_the_expected_sections(case, order):
    if case is None:
        pytest.skip("the trees are not here: set SKILLKIT_SHARED to the folder that holds context/trees.json")
    assert checker().run(case, functools.partial(answer, order), order) == []
