"""The corpus of file tools: trees, calls that an agent's model makes, the trees and answers that follow."""

import importlib.util
import json
import os
import signal
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
        pytest.skip("the cases run in a forked process")
    check = module(shared_data / "files" / "check.py", "files_corpus_check")
    adapter = module(Path(__file__).parent / "support" / "files_adapter.py", "files_adapter")
    adapter.warm_up(tmp_path)
    cases = check.load_cases(sorted((shared_data / "files").glob("cases-*.jsonl")))
    assert len(cases) >= 379
    return check, adapter, cases


def problems_of(check, adapter, cases):
    """The problems of each case. One forked process runs them all; a case that hangs or ends the process is the last."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        with os.fdopen(write_end, "w") as told:
            for case in cases:
                signal.alarm(LIMIT)  # which ends this process
                try:
                    problems = check.run_case(case, adapter)
                except BaseException as error:
                    problems = [f"raised {type(error).__name__}: {error}"]
                print(json.dumps(problems), file=told, flush=True)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as told:
        found = [json.loads(line) for line in told]
    os.waitpid(child, 0)
    if len(found) < len(cases):
        pytest.fail(f"{cases[len(found)]['id']} hung or ended the process")
    return found


def failures(check, adapter, cases, tally=None):
    cases = [case for case in cases if not check.missing_need(case)]
    wrong = {}
    for case, problems in zip(cases, problems_of(check, adapter, cases), strict=True):
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
