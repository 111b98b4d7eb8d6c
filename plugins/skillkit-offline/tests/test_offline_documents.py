"""What the actions say of themselves is kept: a request means the same with it, without it, and when it is damaged."""

import json

import pytest
from skillkit_offline import rank

from skillkit_core.tools import Tool


def tools(example="what is 15% of 80"):
    """Two actions; a new tuple each time, as a new process has it."""

    def of(skill, about, **said):
        notes = {"skill": skill, "action": "run", "skill_description": about, "args": {}, **said}
        return Tool(f"{skill}__run", about, "nowhere:nothing", {"type": "object"}, annotations=notes)

    return (
        of("calculate", "Calculates sums and percentages.", keywords=["percent", "sum"], examples=[example]),
        of("logs", "Search log files.", keywords=["log", "errors"], examples=['search server.log for "timeout"']),
    )


def found(request, cache, *example):
    return [(c.tool.name, c.score, c.exact) for c in rank(request, tools(*example), str(cache) if cache else "")]


@pytest.mark.parametrize("request_text", ["what is 20% of 45", "errors in server.log", "what is 15% of 80"])
def test_a_request_means_the_same(tmp_path, request_text):
    kept = tmp_path / "offline" / "terms.json"
    plain = found(request_text, None)
    assert plain and found(request_text, kept) == plain
    assert kept.exists() and found(request_text, kept) == plain
    found_, known = json.loads(kept.read_text()), kept.read_bytes()
    kept.write_text(json.dumps({**found_, "data": {key: ["?"] for key in found_["data"]}}))
    assert found(request_text, kept) == plain
    kept.write_bytes(known[:50])
    assert found(request_text, kept) == plain


def test_an_edited_action_is_read_again(tmp_path):
    kept = tmp_path / "terms.json"
    found("what is 15% of 80", kept)
    edited = found("how much is a tip", kept, "how much is a tip")
    assert edited == found("how much is a tip", None, "how much is a tip") and edited[0][2]
