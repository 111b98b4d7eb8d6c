"""Every number of the runtime's contract has a test, and the page that says which is up to date."""

import importlib.util
import sys

import pytest
from markdown_blocks import ROOT


@pytest.fixture(scope="module")
def proof():
    spec = importlib.util.spec_from_file_location("generate_proof", ROOT / "docs" / "generate_proof.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_contract_is_whole(proof):
    parts = proof.statements()
    assert list(parts["invariants"]) == [f"I{n}" for n in range(1, 23)]
    assert list(parts["edge_cases"]) == [f"9.{n}" for n in range(1, 54)]
    assert list(parts["known_mistakes"]) == [f"13.{n}" for n in range(1, 14)]


def test_every_number_has_a_test_and_every_mark_a_number(proof):
    known = [n for lines in proof.statements().values() for n in lines]
    assert proof.problems(known, proof.proofs()) == []


def test_the_page_is_what_the_marks_say(proof):
    assert proof.PAGE.read_text(encoding="utf-8") == proof.page(), (
        "run 'python docs/generate_proof.py' to write it again"
    )


MARKED = """
import pytest

pytestmark = [pytest.mark.spec("I1")]


@pytest.mark.spec("9.1", "9.2")
def test_one(): ...


@pytest.mark.slow
@pytest.mark.spec("9.3")
def test_that_does_not_run_by_default(): ...


@pytest.mark.spec("9.4")
class TestSuite:
    @pytest.mark.spec("9.5")
    async def test_two(self): ...


@pytest.mark.spec("9.6")
def helper(): ...
"""


def test_marks_are_read_from_functions_classes_and_modules(proof, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(MARKED)
    found = {n: [p.node for p in ps] for n, ps in proof.proofs(tmp_path).items()}
    one, two = "tests/test_it.py::test_one", "tests/test_it.py::TestSuite::test_two"
    assert found == {
        "I1": [one, "tests/test_it.py::TestSuite", two],
        "9.1": [one],
        "9.2": [one],
        "9.4": ["tests/test_it.py::TestSuite"],
        "9.5": [two],
    }


def test_what_is_missing_or_wrong_is_said(proof, tmp_path):
    some = [proof.Proof("tests/test_it.py", "test_one")]
    assert proof.problems(["I1", "9.1"], {"I1": some, "9.99": some}) == [
        "9.1 has no test",
        "tests/test_it.py::test_one is marked with '9.99', which is no number",
    ]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("import pytest\n@pytest.mark.spec(9.1)\ndef test_one(): ...\n")
    with pytest.raises(SystemExit, match="takes numbers as texts"):
        proof.proofs(tmp_path)
