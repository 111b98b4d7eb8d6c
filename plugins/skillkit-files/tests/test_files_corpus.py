"""The corpus of file tools: trees, calls that an agent's model makes, the trees and answers that follow."""

import importlib.util
import sys
from pathlib import Path

import pytest

LIMIT = 60  # seconds for one case, on a busy machine

# What is decided otherwise, and why
OTHERWISE = dict.fromkeys(
    ("encoding/lone-surrogate-write", "encoding/lone-surrogate-edit"),
    "the core puts U+FFFD for half a character into what a model says, before any tool sees it",
)


def module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def corpus(shared_data, skillkit_home, tmp_path):
    """The checker, the adapter and the cases."""
    if sys.platform != "linux":
        pytest.skip("the checker forks a process for each case")
    check = module(shared_data / "files" / "check.py", "files_corpus_check")
    adapter = module(Path(__file__).parent / "support" / "files_adapter.py", "files_adapter")
    adapter.warm_up(tmp_path)
    cases = check.load_cases(sorted((shared_data / "files").glob("cases-*.jsonl")))
    assert len(cases) >= 379
    return check, adapter, cases


def failures(check, adapter, cases, tally=None):
    wrong = {}
    for case in cases:
        if check.missing_need(case):
            continue
        problems = check.run_forked(case, adapter, LIMIT)
        if tally is not None:
            tally.add("files", {"class": [case["class"]]}, passed=not problems)
            if problems and case["id"] in OTHERWISE:
                tally.excuse(case["id"], OTHERWISE[case["id"]])
        if problems:
            wrong[case["id"]] = problems
    return wrong


def test_every_case_of_the_corpus_passes_but_those_decided_otherwise(corpus, tally):
    check, adapter, cases = corpus
    wrong = failures(check, adapter, cases, tally)
    assert wrong.keys() == OTHERWISE.keys(), wrong


def test_searches_give_the_same_answers_with_ripgrep(corpus, ripgrep, monkeypatch):
    check, adapter, cases = corpus
    monkeypatch.setattr(adapter, "RIPGREP", True)
    searches = [c for c in cases if any(step.get("call") == "grep" for step in c["steps"])]
    assert len(searches) > 50
    assert failures(check, adapter, searches) == {}
