"""Searching: the dialect of ripgrep without it, the same answers with it, many files and large ones."""

import os
import subprocess

import pytest
from skillkit_files.folder import FileError, Folder
from skillkit_files.globs import compile_glob
from skillkit_files.regex_dialect import Pattern
from skillkit_files.search import Query, search

TEXT = (
    "un café ÄPFEL α abcDEF été\nfoo_bar 42 foo.bar\n\n\ttab\tend \nx{} a+b [a-z] größe=1 naïve\u00a0space\n"
    "interface{} \\d\n٣ digits\nübung Übung\n"
)
PATTERNS = [
    r"\p{Greek}", r"\bcafé\b", r"(?i)äpfel", r"abc(?i)def", r"[[:alpha:]]+ \d", r"\x{e9}t", r"\pL{5}", r"\/", r"a\+b",
    r"\{\}", r"^$", r"(?<n>o)", r"[^\d]é", r"\d{2,}", r"\w{200}", r"\bÜbung", r"\bpfel", r"größe\b", r"\bgr", r"[\s\S]bar",
    r"naïve\sspace", r"^\w+$", r"^\d digits", r"[\w-]+=1", r"\Stab", r"\stab", r"foo\.bar$", r"\<caf", r"end\s$", r"[\W]42",
    r"[^\W_]ar", r"\u00e9", r"(?-i)abc", r"a|b|c", r"(foo|bar)_", r"[]a]b", r"\p{Uppercase}", r"\p{sc=Greek}", r"\t", r"\x09tab",
]  # fmt: skip
REFUSED = [
    r"(?=a)", r"(\w)\1", r"(?>a)b", r"[a-", r"\Q", r"\C", r"{", r"a{,3}", r"interface{}", r"a{2,1}", r"(", r"*a", r"\h",
    r"\Z", r"\101", r"(?P>a)", r"[a-\d]", r"a\nb",
]  # fmt: skip


@pytest.fixture
def folder(work):
    (work / "a.txt").write_text(TEXT)
    return Folder(work)


@pytest.mark.sample(15)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_the_lines_that_ripgrep_finds(folder, ripgrep, pattern):
    theirs = subprocess.run(
        [ripgrep, "-n", "--no-config", "-e", pattern, "a.txt"], cwd=folder.root, capture_output=True, text=True
    )
    assert theirs.returncode in (0, 1), theirs.stderr
    found = search(folder, Query(pattern), ripgrep=False)
    assert [line.partition(":")[0] for line in found.lines[1:]] == [
        line.partition(":")[0] for line in theirs.stdout.split("\n")[:-1]
    ]


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_ripgrep_refuses_is_refused_with_a_reason(folder, ripgrep, pattern):
    assert subprocess.run([ripgrep, "-q", "-e", pattern, "a.txt"], cwd=folder.root, capture_output=True).returncode == 2
    with pytest.raises(FileError) as caught:
        Pattern(pattern)
    assert caught.value.code == "invalid"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """10,000 files in 200 folders, a tenth of them ignored."""
    root = tmp_path_factory.mktemp("many")
    (root / ".gitignore").write_text("pkg?5/\n*.log\n!keep.log\n")
    for n in range(200):
        inner = root / f"pkg{n:02}"
        inner.mkdir()
        for m in range(50):
            (inner / f"mod{m}.py").write_text(f"def f{n}_{m}():\n    return {n * m}\n" * 20)
    (root / "pkg01/keep.log").write_text("f0_0\n")
    (root / "pkg01/out.log").write_text("f0_0\n")
    return Folder(root)


def test_ten_thousand_files_are_searched_with_the_same_answers(many, ripgrep):
    for query in (
        Query(r"f1_7\b"),
        Query("return 100$", output="files"),
        Query("f0_0", no_ignore=True),
        Query("f", output="count", limit=50),
    ):
        without, with_it = (search(many, query, ripgrep=choice) for choice in (False, True))
        assert without.text == with_it.text and without.matches == with_it.matches
    found = search(many, Query("f0_0"), ripgrep=False)
    assert found.files == 2 and "pkg01/keep.log" in found.lines and "pkg01/out.log" not in found.lines
    assert not search(many, Query("f15_1"), ripgrep=False).matches


def test_a_search_ends_when_it_is_told_to(many):
    asked = iter(range(1_000_000))
    found = search(many, Query("no such text"), ripgrep=False, stop=lambda: next(asked) > 100)
    assert found.matches == 0 and next(asked) < 2_000


def test_a_large_file_is_searched_in_blocks(work):
    with (work / "big.txt").open("w") as file:
        for n in range(0, 2_000_000, 1000):
            file.write("".join(f"line {m} of many\n" for m in range(n, n + 1000)))
    found = search(Folder(work), Query(r"line (7|1999999) of", before=1, after=1), ripgrep=False)
    assert found.lines == [
        "big.txt", "7-line 6 of many", "8:line 7 of many", "9-line 8 of many", "--", "1999999-line 1999998 of many",
        "2000000:line 1999999 of many",
    ]  # fmt: skip


def test_a_multiline_match_shows_all_its_lines(work):
    (work / "a.py").write_text("def f(\n    a,\n    b,\n):\n    pass\nx\n")
    found = search(Folder(work), Query(r"def f\([\s\S]*?\):", multiline=True, after=1), ripgrep=False)
    assert found.lines == ["a.py", "1:def f(", "2:    a,", "3:    b,", "4:):", "5-    pass"]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py", "ä.py"], ["d/a.py", "a.pyc", "A.PY"]),
        ("**/*.py", ["a.py", "d/e/a.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "srcs/a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/bb"]),
        ("{a,b/{c,d}}.x", ["a.x", "b/c.x", "b/d.x"], ["b.x"]),
        ("[!a]?", ["bc"], ["ab", "b/"]),
        ("[]]x", ["]x"], ["x"]),
        (r"\*\{x", ["*{x"], ["a{x"]),
        ("a+(b).x", ["a+(b).x"], ["aab.x"]),
        ("[^a]", ["b"], ["a", "/"]),
        ("{a,**/b}", ["a", "b", "x/y/b"], ["x/a"]),
    ],
)
def test_globs(pattern, yes, no):
    matches = compile_glob(pattern)
    assert all(map(matches, yes)) and not any(map(matches, no))


@pytest.mark.parametrize("pattern", ["a[", "{a", "[!"])
def test_globs_that_are_open_are_refused(pattern):
    with pytest.raises(FileError):
        compile_glob(pattern)


def test_a_folder_that_is_named_is_searched_though_it_is_ignored(work):
    (work / ".gitignore").write_text("build/\n")
    (work / "build/x").mkdir(parents=True)
    (work / "build/x/a.txt").write_text("needle\n")
    os.mkfifo(work / "build/pipe")
    assert not search(Folder(work), Query("needle"), ripgrep=False).matches
    assert search(Folder(work), Query("needle", path="build"), ripgrep=False).lines == ["build/x/a.txt", "1:needle"]


def test_a_flood_is_cut_before_it_reaches_a_model(work):
    (work / "a.txt").write_text(f"{'x' * 300}\n" * 5000)
    found = search(Folder(work), Query("x", limit=5000), ripgrep=False)
    assert found.more and len(found.text) < 70_000
