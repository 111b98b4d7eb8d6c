"""All plugins together, as ``skillkit inspect hooks`` and ``skillkit inspect trace`` see them."""


def test_every_hook_of_the_standard_distribution_is_fired_and_nothing_is_kept(skillkit_cli, skillkit_home):
    found = skillkit_cli("inspect", "hooks", "--json").ok().json
    assert found["ok"] and found["run"] == {"outcome": "completed", "error": None}
    assert [hook["hook"] for hook in found["hooks"] if not hook["fired"] and hook["family"] != "own"] == []
    brought = {(row["hook"], row["plugin"]) for row in found["handlers"]}
    assert {("register_commands", "chat"), ("register_tools", "bash"), ("before_tool_call", "skills")} <= brought
    assert list(skillkit_home.data_dir.rglob("*")) == []


def test_a_trace_shows_what_the_plugins_of_a_plain_request_do(skillkit_cli, skillkit_home):
    found = skillkit_cli("inspect", "trace", "--json", "what is 15% of 80").ok().json
    assert found["content"] == "15% of 80 = 12"
    rows = {(row["hook"], row["plugin"]): row for row in found["handlers"]}
    assert rows["register_tools", "skills"]["answers"] == [{"tools": "skills"}]
    assert rows["before_tool_call", "permissions"]["calls"] == 1
    assert ("before_tool_call", "skills") not in rows, "no skill is in play that limits or asks"
    assert list(skillkit_home.data_dir.rglob("*.jsonl")) == []
