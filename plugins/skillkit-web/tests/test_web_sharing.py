"""A second address lets in who looks on: every session as it goes on, and no word, no decision, no file."""

import http.client
from urllib.parse import urlsplit


def looker(server):
    """Return a cookie of the address that the server prints for others, and that address."""
    url = server.process.stdout.readline().split()[-1]
    place = urlsplit(url)
    status, headers, _ = server.ask("GET", f"{place.path}?{place.query}", Cookie=None)
    assert status == 303
    return headers["set-cookie"].partition(";")[0], f"{place.path}?{place.query}"


def test_who_looks_on_sees_what_happens_and_changes_nothing(serve):
    with serve("--share") as server:
        owner = server.cookie
        cookie, address = looker(server)
        session = server.begin()
        with server.tab(session) as tab:
            tab.say("hello there")
            tab.event("agent_end")
        stays = server.ask("GET", address)[1]["set-cookie"]  # the owner opens the address, too
        server.cookie = cookie
        listed = server.get("/api/sessions")[1]
        with server.tab(session) as look:
            shot = look.read()
            shell = server.post(f"/api/s/{session}/shell", {"line": "!ls"})
            stop = server.post(f"/api/s/{session}/abort", {})
            files = look.act("complete", line="/skill @")
            changes = [look.say("hi"), look.answer("x", decision="allow"), look.act("fork", entry=None), shell, stop]
            changes += [server.post("/api/sessions", {}), files]
            books = [server.get(f"/api/book/{name}?session={session}&turn=-1") for name in ("why", "usage", "plugins")]
            found = server.get("/api/search?q=hello")[1]["found"]
            server.cookie = owner
            server.post(f"/api/s/{session}/say", {"text": "pay 5"})
            asked = look.question()
            server.cookie = cookie
            decided = look.answer(asked["id"], decision="allow")[0]
            server.cookie = owner
            taken = look.answer(asked["id"], decision="allow")[1]["outcome"]
            look.event("agent_end", outcome="completed")

    assert owner != cookie and stays.partition(";")[0] == owner
    assert listed["read_only"] and listed["shared"] and [row["id"] for row in listed["sessions"]] == [session]
    assert look.about == {"here": True, "untrusted": [], "read_only": True} and shot["type"] == "snapshot"
    assert {status for status, _ in (*changes, *books)} == {400}, changes
    assert {hit["session"] for hit in found} == {session}
    assert (asked["tool"], decided, taken) == ("pay", 400, "taken")


def test_who_looks_on_takes_no_tab_from_the_owner(serve, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").write_text("page: {max_clients: 1}\n")
    with serve("--share") as server:
        owner, session = server.cookie, server.begin()
        server.cookie = looker(server)[0]
        with server.tab(session) as first, server.tab(session) as second:
            kinds = [first.read()["type"], second.read()["type"]]
            server.cookie = owner
            with server.tab(session) as own:
                kinds.append(own.read()["type"])
    assert kinds == ["snapshot", "problem", "snapshot"]


def test_without_the_option_there_is_one_token_and_strangers_are_told_what_to_do(serve):
    with serve() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/", headers={"Host": f"desk.example:{server.port}"})
        named = connection.getresponse().read().decode()
        connection.close()
        unknown = server.ask("GET", "/", Cookie=None)[2].decode()
        server.end()
        rest = server.process.stdout

    assert rest.closed and f"Open it as '127.0.0.1:{server.port}'" in named and "names: [desk.example]" in named
    assert "'skillkit web' printed" in unknown and "SKILLKIT_WEB_TOKEN" in unknown
