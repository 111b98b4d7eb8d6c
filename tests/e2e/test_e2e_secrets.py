"""The keys of a whole session are looked for wherever something is kept or written out, and found nowhere."""

import json
from dataclasses import replace

import pytest

KEY = "sk-loopback-0123456789-secret"  # the provider's
TOKEN = 'tk-"quoted"\\back\\slash/ünïcødé-<&>\'-7'  # the action's: JSON writes it otherwise than it is
CONFIGURED = "cf-from-the-configuration-42"  # the value of a skill's primary variable
ENV = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "VAULT_TOKEN": TOKEN}

SKILL = """\
---
name: vault
description: Shows what the vault holds. Use it to look into the vault.
metadata:
  skillkit:
    primary_env: VAULT_PRIMARY
    keywords: [vault]
    examples: ["look into the vault"]
    actions:
      - name: look
        description: Look into the vault
        script: look.py
        output: json
        confirm: never
        env: [VAULT_TOKEN]
        args: {note: {type: string, description: any words}}
      - name: spend
        description: Spend what the vault holds
        script: look.py
        output: json
        confirm: always
        env: [VAULT_TOKEN]
        args: {note: {type: string, description: any words}}
---
Says what is in the vault.
"""
LOOK = """\
import json, os, sys
found = {name: os.environ[name] for name in ("VAULT_TOKEN", "VAULT_PRIMARY")}
open("ran.txt", "a").write("ran\\n")
print(found, json.dumps(found), json.dumps(json.dumps(found)), file=sys.stderr)
print(json.dumps({"answer": " ".join(found.values()), "found": found, "deep": [{v: [v]} for v in found.values()]}))
"""


def spellings(key):
    """The key as it is, and as JSON writes it once, twice, and in HTML."""
    once = {key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(text)[1:-1] for text in once} | {text.replace("/", "\\/") for text in once}
    html = {text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for text in once | twice}
    quoted = {text.replace('"', "&quot;").replace("'", "&#x27;") for text in html}
    return once | twice | html | quoted


def found_in(text):
    """The keys that a text holds, also cut into lines of JSON whose pieces belong together."""
    pieces = {}
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("type") == "message_update":
            inner = event["event"]
            pieces.setdefault((inner["type"], inner.get("index")), []).append(inner.get("content", ""))
        elif isinstance(event, dict) and event.get("type") == "tool_execution_update":
            pieces.setdefault((event["tool_call_id"], event.get("stream")), []).append(event["output"])
    texts = [text, *("".join(parts) for parts in pieces.values())]
    return [s for key in (KEY, TOKEN, CONFIGURED) for s in spellings(key) for t in texts if s in t]


def found_on_disk(folder):
    """The files that hold a key, read as bytes."""
    wanted = [s.encode() for key in (KEY, TOKEN, CONFIGURED) for s in spellings(key)]
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "config.yaml"]
    assert files
    return [path for path in files if any(word in path.read_bytes() for word in wanted)]


@pytest.fixture
def vault(skillkit_home):
    folder = skillkit_home.config_dir / "skills" / "vault"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "look.py").write_text(LOOK)
    return skillkit_home


def configure(home, store):
    home.write_config(
        f"session: {{store: {store}}}\nskills: {{entries: {{vault: {{api_key: {CONFIGURED}}}}}}}\nretry: {{attempts: 1}}\n"
    )


def hostile(call_args):
    """A server that says every key wherever it can say something."""
    from skillkit_testkit.turns import Call, Reply

    said = f"{KEY} {TOKEN} {CONFIGURED} {json.dumps(TOKEN)}"
    calls = [
        Call("vault__look", {"note": said, **call_args}),
        Call("vault__look", json.dumps({"note": said, "nested": [said]})),
        Call(f"no {said}", {said: said}),
        Call("vault__look", f"not JSON {said}"),
        Call("vault__spend", {"note": said}),
    ]
    return Reply(text=f"I know {said}.", thinking=f"They want {said}", tool_calls=calls, pieces=5)


WIRES = {
    "anthropic": (None, ""),
    "openai-chat": ("openai-chat", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("wire", "store"), [("openai-chat", "jsonl"), ("anthropic", "jsonl"), ("openai-responses", "sqlite")]
)
def test_the_keys_of_a_session_are_nowhere(vault, skillkit_cli, llm_server, wire, store):
    from skillkit_testkit.turns import Reply

    configure(vault, store)
    api, place = WIRES[wire]
    target = ["--provider", wire.partition("-")[0], "--model", "loop", "--base-url", llm_server.url + place]
    target += ["--api", api] if api else []
    llm_server.script(hostile({}), Reply(text=f"Done: {KEY} {TOKEN}", pieces=3))
    request = f"look into the vault, {KEY}, {TOKEN}, the first words go on, until in the middle {KEY} ends the title"
    said = []

    run = skillkit_cli("run", "--json", "--events", "--approvals", "defer", *target, request, env=ENV)
    said.append(run)
    result = run.json_lines[-1]
    assert result["outcome"] == "suspended" and len(result["waiting"]) == 1
    assert (vault.cwd / "ran.txt").read_text().count("ran") >= 1
    kinds = {line["type"] for line in run.json_lines}
    assert {"message_update", "message_end", "before_tool_call", "after_tool_result", "tool_execution_end", "turn_end",
            "approval_request", "agent_end", "usage", "input", "before_provider_request"} <= kinds  # fmt: skip
    told = [line for line in run.json_lines if line["type"] == "tool_execution_start"]
    assert any("***" in json.dumps(line["args"]) for line in told)

    session = result["session"]
    resumed = skillkit_cli("sessions", "resume", session, "--allow", "all", "--json", "--events", *target, env=ENV)
    said.append(resumed)
    last = resumed.json_lines[-1]
    assert last["outcome"] == "completed", str(resumed)
    refused = last["tool_calls"][0]
    assert refused["outcome"] == "error" and refused["tool"] == "vault__spend"
    results = [r.text for r in llm_server.requests[-1].tool_results]
    assert any("its arguments held a secret" in text for text in results)
    assert all(found_in(json.dumps(request.body)) == [] for request in llm_server.requests), "nor is the model told"

    entry = next(e["id"] for e in skillkit_cli("sessions", "show", session, "--json", env=ENV).ok().json["entries"])
    for command in (
        ["sessions", "label", session, entry, f"label {KEY}"],
        ["sessions", "list"],
        ["sessions", "list", "--json"],
        ["sessions", "show", session],
        ["sessions", "show", session, "--json"],
        ["sessions", "tree", session],
        ["sessions", "search", "vault", "--json"],
        ["sessions", "fork", session, "--json"],
        *(["sessions", "export", session, "--format", form] for form in ("jsonl", "markdown", "html")),
    ):
        done = skillkit_cli(*command, env=ENV).ok()
        assert done.stdout
        said.append(done)
    assert [(r.args, found_in(r.stdout + r.stderr)) for r in said if found_in(r.stdout + r.stderr)] == []
    assert found_on_disk(vault.data_dir) == []
    titles = [row["title"] for row in skillkit_cli("sessions", "list", "--json", env=ENV).json]
    assert all(title.startswith("look into the vault, ***, ***") and KEY[:10] not in title for title in titles)


def test_an_action_that_is_typed_with_a_key_keeps_none(vault, skillkit_cli):
    configure(vault, "jsonl")
    run = skillkit_cli("run", "--json", "--events", "--skill", "vault", "look", "--note", f"n {TOKEN}", env=ENV).ok()
    assert found_in(run.stdout + run.stderr) == [] and found_on_disk(vault.data_dir) == []
    assert run.json_lines[-1]["answer"] == "*** ***"
    plain = skillkit_cli("run", "-v", "--skill", "vault", "look", "--note", f"n {TOKEN}", env=ENV).ok()
    assert found_in(plain.stdout + plain.stderr) == [] and "***" in plain.stdout


def test_a_session_without_keys_reads_as_it_was_said(vault, skillkit_cli, llm_server):
    """Nothing but keys is replaced: pieces, arguments and results come through letter for letter."""
    from skillkit_testkit.turns import Call, Reply

    configure(vault, "jsonl")
    words = 'sk-loop and tk-"quot: beginnings of keys \\ "quoted" ünï'
    llm_server.script(
        Reply(text=words, tool_calls=[Call("vault__look", {"note": words})], pieces=1), Reply(text=words, pieces=2)
    )
    target = ["--provider", "openai", "--model", "loop", "--base-url", f"{llm_server.url}/v1", "--api", "openai-chat"]
    run = skillkit_cli("run", "--json", "--events", *target, words, env=ENV).ok()
    lines = run.json_lines
    inner = [line["event"] for line in lines if line["type"] == "message_update"]
    assert "".join(e["content"] for e in inner if e["type"] == "text_delta") == words * 2
    assert json.loads("".join(e["content"] for e in inner if e["type"] == "tool_call_delta")) == {"note": words}
    assert lines[-1]["answer"] == words and lines[-1]["tool_calls"][0]["args"] == {"note": words}


async def test_no_key_reaches_a_client_or_the_screen_of_a_conversation(vault, skillkit_cli, llm_server, monkeypatch):
    from skillkit_chat.client import RpcClient
    from skillkit_testkit.turns import Reply

    configure(vault, "jsonl")
    for name, value in {**ENV, "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    target = ["--provider", "openai", "--model", "loop", "--base-url", llm_server.openai_url, "--api", "openai-chat"]
    told = []

    llm_server.script(hostile({}), Reply(text=f"Done: {KEY} {TOKEN}", pieces=3))
    async with RpcClient(target, argv=[*skillkit_cli.program, "rpc"], cwd=vault.cwd, on_event=told.append) as client:
        answer = await client.prompt("look into the vault")
        messages = await client.messages()
    assert answer.content == "Done: *** ***" and {"message_update", "tool_execution_update"} <= {
        e["type"] for e in told
    }
    assert found_in("\n".join(json.dumps(event) for event in [*told, *messages])) == []

    first = hostile({})
    # nobody is asked about what is left: who is asked sees what would run
    llm_server.script(replace(first, tool_calls=first.tool_calls[:-1]), Reply(text=f"Done: {KEY} {TOKEN}", pieces=3))
    with skillkit_cli.terminal("chat", *target, "look into the vault", cwd=vault.cwd, columns=2_000) as terminal:
        terminal.wait_for("Done: *** ***")
        terminal.send("\x04")
        assert terminal.wait() == 0
    assert "I know *** *** ***" in terminal.text and found_in(terminal.text) == []


def test_the_value_of_a_variable_for_mcp_servers_is_kept_nowhere_though_no_server_runs(skillkit_cli, skillkit_home):
    file = skillkit_home.config_dir / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mcp:\n  variables: [MY_TOKEN]\n")
    said = ("run", "--json", "what is 15% of 80 with tok-3141592653589")
    assert "15% of 80 with ***" in skillkit_cli(*said, env={"MY_TOKEN": "tok-3141592653589"}).stdout
    kept = [path.read_text() for path in skillkit_home.data_dir.rglob("*.jsonl")]
    assert kept and not any("tok-3141592653589" in text for text in kept)
