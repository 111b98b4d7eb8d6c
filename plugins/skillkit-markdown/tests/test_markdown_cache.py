"""Front matter that was parsed before: it is the same, a change is noticed, and its cache may be anything."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from skillkit_markdown import FrontMatterCache, read_front_matter

TEXT = b"---\nname: a\ndescription: A thing.\nname: b\nversion: 1.10\nmetadata: {x: [1, no, null]}\n---\nDo it.\n"


def said(front):
    return (front.values, front.body, front.diagnostics, front.duplicates, front.dropped)


def once(path, data=TEXT):
    kept = FrontMatterCache(str(path))
    front = read_front_matter(data, kept.parse)
    kept.save()
    return front


def test_a_known_block_gives_the_same_values_and_another_one_is_parsed(tmp_path):
    kept = tmp_path / "skills" / "kept.json"
    first = once(kept)
    assert said(once(kept)) == said(first) == said(read_front_matter(TEXT))
    assert first.duplicates == ["name"] and first.values["version"] == "1.10"
    assert once(kept, TEXT.replace(b"A thing", b"Another")).values["description"] == "Another."


@pytest.mark.parametrize("left", ["", "{", "[]", '{"stamp": 1, "data": {}}', None], ids=repr)
def test_a_cache_that_is_damaged_only_costs_time(tmp_path, left):
    kept = tmp_path / "kept.json"
    once(kept)
    if left is None:  # right on the outside, wrong inside
        found = json.loads(kept.read_text())
        left = json.dumps({**found, "data": {block: ["?"] for block in found["data"]}})
    kept.write_text(left)
    assert said(once(kept)) == said(read_front_matter(TEXT))


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert said(once(tmp_path / "file" / "kept.json")) == said(read_front_matter(TEXT))


def test_a_known_block_needs_no_yaml(tmp_path):
    once(tmp_path / "kept.json")
    code = (
        "import sys\nfrom skillkit_markdown import FrontMatterCache, read_front_matter\n"
        f"front = read_front_matter({TEXT!r}, FrontMatterCache({str(tmp_path / 'kept.json')!r}).parse)\n"
        "print(front.values['name'], 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["b", "False"]
