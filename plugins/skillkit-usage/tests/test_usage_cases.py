"""Session files with the report that belongs to them, and ledgers with the question whether the next request may go."""

import asyncio
import functools
import importlib.util
import json
import os
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from skillkit_sessions import JsonlStore
from skillkit_testkit.shared import find_shared
from skillkit_usage import Books, Index, Wish, summed
from skillkit_usage.books import Spent
from skillkit_usage.report import BUCKETS, with_nested

from skillkit_core import ModelCost, ModelDefinition, TokenUsage


@functools.cache
def folder():
    shared = find_shared(Path(__file__).parent, os.environ.get("SKILLKIT_SHARED"))
    return None if shared is None or not (shared / "context" / "ledgers.jsonl").exists() else shared / "context"


@functools.cache
def checker():
    spec = importlib.util.spec_from_file_location("usage_ledger", folder() / "lib" / "ledger.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(name):
    lines = (folder() / name).read_text().splitlines() if folder() else []
    found = [json.loads(line) for line in lines if line]
    return [pytest.param(case, id=case["id"]) for case in found] or [pytest.param(None, id="absent")]


def present(case):
    if case is not None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail("context/ledgers.jsonl is not in SKILLKIT_SHARED")
    pytest.skip("the ledgers are not here: set SKILLKIT_SHARED to the folder that holds context/ledgers.jsonl")


def as_json(sums):
    return {name: getattr(sums, name) for name in ("requests", *BUCKETS, "cost", "unpriced")}


def reported(directory, files, tz):
    """What the plugin says of session files, in the words of the cases."""
    for name, text in files.items():
        (directory / name).write_text(text)
    index, zone = Index(directory / "cache"), ZoneInfo(tz)
    stores = {"jsonl": JsonlStore.at(directory)}
    assert asyncio.run(index.refresh(stores)) == bool(files)
    assert not index.problems
    assert not asyncio.run(index.refresh(stores)), "nothing is read again"
    views = {}
    names = {"session": "by_session_own", "run": "by_run", "day": "by_day", "month": "by_month", "model": "by_model"}
    for by, view in {**names, "tool": "by_tool"}.items():
        rows, total = summed(index, by, zone)
        views[view], views["total"] = {key: as_json(sums) for key, sums in rows.items()}, as_json(total)
    views["by_run"] = {key.partition(":")[2]: sums for key, sums in views["by_run"].items()}
    views["by_session"] = {key: as_json(sums) for key, sums in with_nested(index).items()}
    index.close()
    return views


@pytest.mark.parametrize("case", cases("ledgers.jsonl"))
def test_session_files_give_the_expected_report(case, tmp_path):
    present(case)
    assert checker().differences(case["expect"], reported(tmp_path, case["files"], case["tz"])) == []


def decided(case):
    """What the books say of a request, in the words of the cases."""

    def budget(scope):
        given = case["limits"].get(scope.kind, {})
        given = given.get(scope.key) if scope.kind in ("run", "session") else given
        return SimpleNamespace(**({"cost": None, "tokens": None, "requests": None} | given)) if given else None

    def wish(name, request):
        price, asked = case["prices"].get(request["model"]), request["estimate"]
        model = ModelDefinition(request["model"], cost=None if price is None else ModelCost(**price))
        tokens = {bucket: asked.get(bucket, 0) for bucket in ("input", "cache_read", "cache_write")}
        used = TokenUsage(**tokens, output=asked["max_output"])
        about = tuple(request["runs"]), tuple(request["sessions"]), request["model"]
        return Wish(name, *about, used.total, model.cost_of(used), asked["max_output"])

    books = Books(budget, ZoneInfo(case["tz"]), allow_unpriced=case["policy"]["unpriced"] == "allow")
    for entry in case["ledger"]:
        spent = Spent.of(TokenUsage(**entry["usage"]).total, entry["cost"])
        books.add(entry["ts"], tuple(entry["runs"]), tuple(entry["sessions"]), spent)
    for n, request in enumerate(case["in_flight"]):
        books.reserve(case["now"], wish(str(n), request))
    stops = books.stops(case["now"], wish("next", case["next"]))
    own = ("run", "session")
    return sorted(f"{s.kind}:{s.key}.{x.unit}" if (s := x.scope).kind in own else f"{s.kind}.{x.unit}" for x in stops)


@pytest.mark.parametrize("case", cases("budgets.jsonl"))
def test_a_request_goes_or_is_stopped_by_the_expected_budgets(case):
    present(case)
    stopped = decided(case)
    assert (not stopped, stopped) == (case["expect"]["go"], case["expect"]["stopped_by"])
