"""Frontmatter that was parsed before: it is the same, it is noticed when it changes, and its cache may be anything."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from skillkit_skills.reader import read
from skillkit_skills.reader.blocks import Blocks

TEXT = b"---\nname: a\ndescription: A thing.\nname: b\nversion: 1.10\nmetadata: {x: [1, no, null]}\n---\nDo it.\n"


def once(path, data=TEXT):
    blocks = Blocks(str(path))
    skill = read(data, "a", blocks.parse)
    blocks.save()
    return skill


def test_a_known_block_gives_the_same_skill_and_another_one_is_parsed(tmp_path):
    kept = tmp_path / "skills" / "kept.json"
    first = once(kept)
    assert once(kept) == first == read(TEXT, "a")
    assert first.duplicates == ["name"] and first.values["version"] == "1.10"
    assert once(kept, TEXT.replace(b"A thing", b"Another")).fields.description == "Another."


@pytest.mark.parametrize("left", ["", "{", "[]", '{"stamp": 1, "data": {}}', None], ids=repr)
def test_a_cache_that_is_damaged_only_costs_time(tmp_path, left):
    kept = tmp_path / "kept.json"
    once(kept)
    if left is None:  # right on the outside, wrong inside
        found = json.loads(kept.read_text())
        left = json.dumps({**found, "data": {block: ["?"] for block in found["data"]}})
    kept.write_text(left)
    assert once(kept) == read(TEXT, "a")


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert once(tmp_path / "file" / "kept.json") == read(TEXT, "a")


def test_a_known_block_needs_no_yaml(tmp_path):
    once(tmp_path / "kept.json")
    code = (
        "import sys\nfrom skillkit_skills.reader import read\nfrom skillkit_skills.reader.blocks import Blocks\n"
        f"print(read({TEXT!r}, 'a', Blocks({str(tmp_path / 'kept.json')!r}).parse).fields.name, 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["b", "False"]
