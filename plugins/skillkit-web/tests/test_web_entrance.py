"""Who gets in: the token, the name, the origin; and what a page may do with an answer."""

import socket
from pathlib import Path

import pytest
from web_tab import TOKEN


@pytest.mark.smoke
def test_the_page_is_for_who_has_the_token_by_a_name_of_this_machine_and_from_its_own_origin(serve):
    with serve() as server:
        own = f"http://127.0.0.1:{server.port}"
        json = {"Content_Type": "application/json"}
        asked = {
            "a stranger": server.ask("GET", "/", Cookie=None)[0],
            "a wrong token": server.ask("GET", "/?token=wrong", Cookie=None)[0],
            "a wrong cookie": server.ask("GET", "/", Cookie=f"skillkit-{server.port}={TOKEN}")[0],
            "a stranger at the sessions": server.ask("GET", "/api/sessions", Cookie=None)[0],
            "another name": server.ask("GET", "/", Host=f"evil.example:{server.port}")[0],
            "localhost": server.ask("GET", "/", Host=f"localhost:{server.port}")[0],
            "another origin": server.ask("POST", "/api/sessions", "{}", Origin="http://evil.example", **json)[0],
            "no origin": server.ask("POST", "/api/sessions", "{}", **json)[0],
            "a form": server.ask("POST", "/api/sessions", "{}", Origin=own, Content_Type="text/plain")[0],
            "another site": server.ask("GET", "/api/sessions", Sec_Fetch_Site="same-site")[0],
            "its own": server.ask("POST", "/api/sessions", "{}", Origin=own, **json)[0],
            "no part": server.ask("GET", "/page/..%2Fplugin.py")[0],
            "no session": server.ask("GET", "/api/s/..%2F..%2Fx/blob/1")[0],
        }
        status, headers, page = server.ask("GET", "/")
        admitted = server.ask("GET", f"//evil.example/?token={TOKEN}", Cookie=None)
        listening = _addresses(server.port)

    assert asked == {
        "a stranger": 401, "a wrong token": 401, "a wrong cookie": 401, "a stranger at the sessions": 401,
        "another name": 421, "localhost": 200, "another origin": 403, "no origin": 403, "a form": 415,
        "another site": 403, "its own": 200, "no part": 404, "no session": 404,
    }  # fmt: skip
    assert status == 200 and TOKEN.encode() not in page and b'<script type="module" src="/page/' in page
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff" and "access-control-allow-origin" not in headers
    assert admitted[0] == 303 and admitted[1]["location"] == "/evil.example/"
    assert "HttpOnly" in admitted[1]["set-cookie"] and "SameSite=strict" in admitted[1]["set-cookie"]
    assert TOKEN not in admitted[1]["set-cookie"]
    assert listening in (set(), {"127.0.0.1"})


def _addresses(port):
    """Return the addresses at which a port is listened to, where the system tells them."""
    table = Path("/proc/net/tcp")
    rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
    local = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {socket.inet_ntoa(bytes.fromhex(ip)[::-1]) for ip, number in local if int(number, 16) == port}


def test_a_page_that_looks_on_changes_nothing(serve):
    with serve("--read-only") as server:
        listed = server.get("/api/sessions")
        begun = server.post("/api/sessions", {})
        act = server.post("/api/s/any/act", {"method": "fork", "params": {}})
        said = server.post("/api/s/any/say", {"text": "hello"})

    assert listed[0] == 200 and listed[1]["read_only"]
    assert [status for status, _ in (begun, act, said)] == [400, 400, 400] and "looks on" in said[1]["error"]


def test_what_opens_the_server_to_others_is_refused_before_anybody_listens(skillkit_cli, skillkit_home):
    wide = skillkit_cli("web", "--host", "0.0.0.0")
    short = skillkit_cli("web", env={"SKILLKIT_WEB_TOKEN": "short"})
    put_off = skillkit_cli("web", "--approvals", "defer")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = skillkit_cli("web", "--port", str(taken.getsockname()[1]))
    nowhere = skillkit_cli("web", "--host", "203.0.113.7", "--insecure-lan")
    (skillkit_home.cwd / "cert.pem").write_text("no certificate\n")
    wrong = skillkit_cli("web", "--certificate", "cert.pem", "--certificate-key", "cert.pem")

    assert (wide.exit_code, short.exit_code, put_off.exit_code, busy.exit_code) == (2, 2, 2, 2)
    assert nowhere.exit_code == 2 and "no such address" in nowhere.stderr and "--port" not in nowhere.stderr
    assert wrong.exit_code == 2 and "cert.pem are no certificate" in wrong.stderr and not wrong.stdout
    assert "--insecure-lan" in wide.stderr and "guess" in short.stderr and "another --port" in busy.stderr


def test_without_its_plugin_the_command_is_said_to_come_with_it(skillkit_cli):
    pytest.importorskip("skillkit_plugin_packages", reason="which has the table of what comes with what")
    off = skillkit_cli("-P", "no:web", "web")
    assert off.exit_code == 2 and "comes with the plugin 'web', which does not run" in off.stderr


def test_a_folder_lets_nobody_in_by_its_configuration_and_tabs_have_a_limit(serve, skillkit_home):
    project = skillkit_home.cwd / ".skillkit"
    project.mkdir()
    (project / "config.yaml").write_text("page: {names: [evil.example], max_clients: 9}\n")
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    (skillkit_home.config_dir / "config.yaml").write_text("page: {names: [desk.example], max_clients: 1}\n")

    with serve() as server:
        theirs = server.ask("GET", "/", Host=f"evil.example:{server.port}")[0]
        own = server.ask("GET", "/", Host=f"desk.example:{server.port}")[0]
        session = server.begin()
        with server.tab(session) as first, server.tab(session) as second:
            first.read()
            refused = second.read()

    assert (theirs, own) == (421, 200)
    assert refused["type"] == "problem" and "tabs are open" in refused["error"]
