"""A tab without a browser: the requests that the page makes, and the stream that it follows."""

import http.client
import json
import signal
from urllib.parse import urlsplit

TOKEN = "a-token-of-the-tests-of-the-page"


class Server:
    """``skillkit web`` as a process; use it in a ``with`` block."""

    def __init__(self, cli, *options, env=None):
        words = ("-P", "obeys", "web", "--provider", "obeys", *options)
        self.process = cli.start(*words, env={"SKILLKIT_WEB_TOKEN": TOKEN, **(env or {})})
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.port = urlsplit(self.url).port
        self.cookie = ""

    def __enter__(self):
        self.cookie = self.ask("GET", f"/?token={TOKEN}")[1]["set-cookie"].partition(";")[0]
        return self

    def __exit__(self, *exception):
        self.end()

    def end(self, number=signal.SIGTERM):
        """End the process, and wait for that; return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        if not self.process.stdout.closed:
            self.process.communicate(timeout=30)
        return self.process.returncode

    def ask(self, method, path, body=None, **headers):
        """Return status, headers and text of an answer."""
        given = {"Cookie": self.cookie, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
            with connection.getresponse() as response:
                return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()

    def get(self, path):
        """Return what the server tells, as JSON."""
        status, _, body = self.ask("GET", path)
        return status, json.loads(body)

    def post(self, path, data):
        """Return what the page's own POST gives, as JSON."""
        origin = f"http://127.0.0.1:{self.port}"
        status, _, body = self.ask("POST", path, json.dumps(data), Origin=origin, Content_Type="application/json")
        return status, json.loads(body)

    def begin(self, folder=None):
        """Begin a session; return its id."""
        status, found = self.post("/api/sessions", {"folder": folder})
        assert status == 200, found
        return found["session"]

    def tab(self, session, after=None):
        """Open a tab."""
        return Tab(self, session, after)


class Tab:
    """One client of a session; use it in a ``with`` block."""

    def __init__(self, server, session, after=None):
        self.server, self.session = server, session
        self.seen, self.last, self.about = [], after, None
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        path = f"/api/s/{session}/events" + (f"?after={after}" if after else "")
        self._connection.request("GET", path, headers={"Cookie": server.cookie})
        self._response = self._connection.getresponse()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._response.close()
        self._connection.close()

    def read(self):
        """Return the next message, ``None`` at the end of the stream."""
        kind, number, data = "message", None, None
        while line := self._response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                number = value
            elif name == "data":
                data = json.loads(value)
            elif not line.strip() and data is not None:
                if kind == "about":
                    self.about, kind, data = data, "message", None
                    continue
                if number is not None:
                    self.last = number
                message = {"type": kind, **data} if kind == "problem" else data
                self.seen.append(message)
                return message
        return None

    def until(self, condition):
        """Read until a message fulfils a condition; return it."""
        while (message := self.read()) is not None:
            if condition(message):
                return message
        raise AssertionError(f"the stream ended after {self.seen[-3:]}")

    def event(self, kind, **fields):
        """Read until an event of the outermost agent; return it."""

        def fits(message):
            event = message.get("event", {})
            return event.get("type") == kind and len(event["agent_path"]) == 1 and fields.items() <= event.items()

        return self.until(fits)["event"]

    def question(self):
        """Read until a question, also one that waits in a snapshot; return it."""

        def asks(message):
            return message["type"] == "question" or (message["type"] == "snapshot" and message["questions"])

        message = self.until(asks)
        return message.get("question") or message["questions"][0]

    def say(self, text, **more):
        """Say something."""
        return self.server.post(f"/api/s/{self.session}/say", {"text": text, **more})

    def answer(self, question, **given):
        """Answer a question; return what became of it."""
        return self.server.post(f"/api/s/{self.session}/answer", {"question": question, **given})

    def act(self, method, **params):
        """Do what a method of the protocol asks."""
        return self.server.post(f"/api/s/{self.session}/act", {"method": method, "params": params})

    def text(self):
        """Return all that the model has said in deltas."""
        parts = [m["event"]["event"] for m in self.seen if m.get("event", {}).get("type") == "message_update"]
        return "".join(part["content"] for part in parts if part["type"] == "text_delta")
