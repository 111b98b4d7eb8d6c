"""SLP-1: the reader against every file of the corpora, the folder cases, and whatever hypothesis thinks of."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections import Counter
from hashlib import sha256

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from skillkit_markdown import TextYAMLError, parse_text
from skillkit_skills import parse, read

FIELDS = [
    *("status", "name", "name_source", "description", "requires", "requires_source", "allowed_tools", "user_invocable"),
    *("disable_model_invocation", "always", "primary_env", "skill_key", "install_kinds", "version", "homepage"),
    *("body_sha256", "body_chars"),
]


def same(want, got) -> bool:
    if isinstance(want, dict) and "$sha256" in want:
        return sha256(got.encode("utf-8", "surrogatepass")).hexdigest() == want["$sha256"]
    return want == got


def differences(want: dict, data: bytes, dir_name: str) -> list[str]:
    got = parse(data, dir_name)
    wrong = [f"{k}: {want[k]!r} != {got[k]!r}" for k in FIELDS if k in want and not same(want[k], got[k])]
    listed = [d for d in want["diagnostics"] if not d.startswith("...")]
    wrong += [f"no diagnostic {d}" for d in listed if d not in got["diagnostics"]]
    if len(listed) == len(want["diagnostics"]):
        wrong += [f"extra diagnostic {d}" for d in got["diagnostics"] if d not in listed]
    if Counter(want["spec_errors"]) != Counter(got["spec_errors"]):
        wrong.append(f"spec_errors: {want['spec_errors']} != {got['spec_errors']}")
    return wrong


def test_every_real_file_of_the_corpus_is_read_as_expected(shared):
    root = shared
    with (root / "openclaw_expected.jsonl").open(encoding="utf-8") as rows:
        expected = {r["path"]: r for r in map(json.loads, rows)}
    failures, seen = [], Counter()
    with tarfile.open(root / "openclaw_skillmd.tar.xz") as archive:
        for member in archive:
            path = member.name.removeprefix("openclaw-skills/")
            row = expected[path]
            handle = archive.extractfile(member)
            assert handle is not None
            seen[row["class"]] += 1
            if wrong := differences(row["slp1"], handle.read(), path.split("/")[-2]):
                failures.append((row["class"], path, wrong))
    assert seen["core"] > 1000 and seen["repair"] and seen["unlisted"]
    assert failures == []


def test_every_folder_case_is_read_as_expected(shared):
    failures, seen = [], 0
    for file in sorted(shared.glob("skills_*/*/expected.yaml")):
        case = yaml.safe_load(file.read_text(encoding="utf-8"))
        if case["kind"] != "skill" or case["slp1"]["status"] == "absent":
            continue
        found = next(p for p in (file.parent / case["dir"]).iterdir() if p.name.lower() == "skill.md")
        seen += 1
        if wrong := differences(case["slp1"], found.read_bytes(), case["dir"]):
            failures.append((case["id"], wrong))
    assert seen > 100
    assert failures == []


def test_the_readers_scorer_gives_full_marks(shared):
    tool = shared / "tools" / "check_host.py"
    done = subprocess.run([sys.executable, tool, "skillkit_skills.skill_md.spec:parse"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pure_python_yaml_reads_the_same():
    code = (
        "import sys; sys.modules['yaml._yaml'] = None\n"
        "from skillkit_skills.skill_md.spec import parse\n"
        "from skillkit_markdown.yaml_text import CParser\n"
        "assert CParser is None\n"
        "print(parse(b'---\\nname: a\\ndescription: b: c\\nversion: 1.10\\nmetadata: {x: [1, no]}\\n---\\nhi', 'a'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    want = parse(b"---\nname: a\ndescription: b: c\nversion: 1.10\nmetadata: {x: [1, no]}\n---\nhi", "a")
    assert done.stdout.strip() == str(want)
    assert want["status"] == "repaired" and want["description"] == "b: c" and want["version"] == "1.10"


pieces = st.sampled_from(
    ["---\n", "name: x\n", "description: y\n", "description: a: b\n", "metadata: {", '{"openclaw": [', "\t", "  ", "&a", "*a",
     "!!python/object:x", "<<<<<<< up\n", "- ", "'", '"', "|", ">", "\n", "\r\n", "# c", "...\n", "\ud7ff", "é", "a", ": ",
     "requires:\n", "os: mac\n", "allowed-tools: Bash(a b), C\n", "\\ud83d\\ude00", "\x07", "?"]
)  # fmt: skip


@given(st.lists(pieces, max_size=40).map("".join))
@settings(deadline=None)
def test_no_text_makes_the_reader_raise(text):
    skill = read(text.encode("utf-8"), "x")
    assert skill.status in ("ok", "repaired", "unlisted", "rejected")
    assert (skill.status in ("unlisted", "rejected")) == (skill.fields is None or skill.fields.description is None)


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_no_bytes_make_the_reader_raise(data):
    parse(b"---\nname: " + data, "x")


def test_a_file_beyond_one_mebibyte_is_rejected():
    assert read(b"---\nname: a\n---\n" + b"x" * 2**20, "a").diagnostics == ["file-too-large"]


def test_tabs_in_the_indentation_are_mended():
    skill = read(b"---\nname: a\ndescription: d\nmetadata:\n\topenclaw:\n\t\trequires:\n\t\t\tbins: [jq]\n---\nb", "a")
    assert "yaml-tabs" in skill.diagnostics and skill.status == "repaired"
    assert skill.fields is not None and skill.fields.requires.bins == ["jq"]


def test_objects_in_requires_give_their_name():
    skill = read(b"---\nname: a\ndescription: d\nmetadata: {openclaw: {requires: {env: [{name: K}, J]}}}\n---\n", "a")
    assert skill.fields is not None and skill.fields.requires.env == ["K", "J"]
    assert "requires-item-object:env" in skill.diagnostics


def test_escaped_surrogate_pairs_become_one_character():
    data = b'---\nname: a\ndescription: d\nmetadata: {"openclaw": {"emoji": "\\ud83d\\ude00"}}\n---\n'
    skill = read(data, "a")
    assert skill.status == "ok"
    assert skill.fields is not None and skill.fields.block["emoji"] == "\U0001f600"


def test_nothing_grows_through_aliases():
    with pytest.raises(TextYAMLError):
        parse_text("a: !!python/name:os.system x")
    parsed = parse_text("a: &x [1, 2]\nb: *x\nc: text")
    assert parsed.aliases and parsed.value == {"c": "text"}
