"""A provider as the documentation writes it: its files are taken from the page, checked, installed, and asked."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-a-provider.md"
FILE = re.compile(r"<!-- file: (skillkit-acme/\S+) -->\n```\w+\n(.*?)\n```", re.S)


@pytest.fixture
def server():
    """The server of the page's provider: it answers each request in two lines of JSON."""
    asked = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = [{"text": "Hello from acme."}, {"text": "", "end": "stop", "read": 3, "wrote": 4}]
            self.send_response(200)
            self.end_headers()
            self.wfile.write("".join(json.dumps(line) + "\n" for line in said).encode())

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}", asked
        serving.shutdown()


def test_the_provider_of_the_page_is_checked_installed_and_answers_with_a_skill(outside, venv, server):
    for name, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
        (file := outside.work / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    environment = venv("skillkit-default", "skillkit-testkit", "skillkit-transport[http]", pip=True)
    url, asked = server
    env = {"ACME_BASE_URL": url, "ACME_API_KEY": "a-key-of-acme"}

    card = json.loads(environment.run("skillkit", "plugins", "check", "--json", "skillkit-acme").stdout)
    environment.run("skillkit", "plugins", "install", "--yes", "./skillkit-acme").ok()
    answer = environment.run(
        "skillkit", "run", "--provider", "acme", "--skill", "calculate", "say hello to me", env=env
    ).ok()

    assert {one["name"] for one in card["checks"] if one["state"] == "failed"} <= {"metadata", "docs", "items"}
    assert (card["package"], card["plugins"]) == ("skillkit-acme", ["acme"])
    assert answer.stdout == "Hello from acme.\n"
    assert "calculate" in json.dumps(asked[-1]["talk"]) and asked[-1]["model"] == "acme-1"
