"""What ``skillkit rpc`` sends: how much, to clients that do not read, and by which numbers."""

import json
import os
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "support" / "guarded_plugin.py"


class Lines:
    """A server, and its lines one by one."""

    def __init__(self, argv, cwd, env, version):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=env)
        self.count = self.bytes = 0
        self.results = {}  # by the id of the request: an answer may stand before an event that is waited for
        self.send("initialize", version=version)
        self.answer()
        if version > 1:
            self.send("attach")
            self.answer()

    def send(self, method, **params):
        self.count += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        self.bytes += len(line)
        message = json.loads(line)
        if "result" in message:
            self.results[message["id"]] = message["result"]
        return message

    def answer(self):
        """Read up to the answer to the last request, and give it."""
        while self.count not in self.results:
            self.read()
        return self.results[self.count]

    def until(self, wanted):
        while not wanted(message := self.read()):
            pass
        return message

    def end(self):
        self.process.stdin.close()
        while self.process.stdout.readline():
            pass
        assert self.process.wait(30) == 0
        self.process.stdout.close()


@pytest.fixture
def lines(skillkit_cli, install_plugin):
    """``lines(version)`` starts a server."""
    install_plugin("guarded", PLUGIN)
    argv = [*skillkit_cli.program, "-P", "guarded", "rpc", "--provider", "obeys"]
    env = {**os.environ, "SKILLKIT_PLUGINS__DISABLED": "context"}
    made = []

    def make(version):
        made.append(Lines(argv, skillkit_cli.home.cwd, env, version))
        return made[-1]

    yield make
    for server in made:  # those that a test which failed has left
        server.process.kill()
        server.process.wait()
        server.process.stdin.close()
        server.process.stdout.close()


def is_event(message, kind):
    return message.get("method") == "message" and message["params"].get("event", {}).get("type") == kind


def test_what_is_sent_grows_with_what_is_new(lines):
    prompts = 80
    figures = {}
    for version in (1, 2):
        server = lines(version)
        sent = []
        for n in range(prompts):
            server.bytes = 0
            server.send("prompt", text=f"This is prompt number {n:02}")
            server.answer()
            sent.append(server.bytes)
        server.end()
        figures[version] = sent
    for version, sent in figures.items():
        print(
            f"version {version}: prompt 1 {sent[0]:7} bytes, prompt {prompts} {sent[-1]:7} bytes, all {sum(sent)} bytes"
        )
    one, two = figures[1], figures[2]
    assert one[-1] > 2 * one[1], "version 1 sends the whole conversation with each turn"
    assert two[-1] < 1.1 * two[1], "version 2 sends what is new"
    assert two[1] < one[1]


@pytest.mark.parametrize("version", [1, 2])
def test_a_client_that_does_not_read_holds_up_itself_alone(lines, version, skillkit_cli):
    pipe = skillkit_cli.home.cwd / "flooded"
    os.mkfifo(pipe)
    server = lines(version)
    server.send("prompt", text="flood 6")
    assert pipe.read_text() == "done", "the tool goes on to its end, and nobody has read a line of it"
    server.send("abort", reason="enough")
    if version == 1:
        server.until(lambda m: m.get("params", {}).get("outcome") == "aborted")
        server.answer()
        server.end()
        return
    dropped = server.until(lambda m: m.get("method") == "dropped")["params"]
    server.answer()  # the run is over, and the output of the tool is one message
    server.send("attach", after=dropped["after"])
    first = server.until(lambda m: m.get("method") == "message")["params"]
    assert first["type"] == "event" and len(first["event"]["output"]) > 1_000_000, "what was missed came as one message"
    server.until(lambda m: is_event(m, "agent_settled"))
    server.end()


def test_a_client_that_does_not_read_is_ended_by_a_signal(lines, skillkit_cli):
    pipe = skillkit_cli.home.cwd / "flooded"
    os.mkfifo(pipe)
    server = lines(2)
    server.send("prompt", text="flood 6")
    assert pipe.read_text() == "done"
    server.process.terminate()
    assert server.process.wait(30) != 0
    server.process.stdin.close()
    server.process.stdout.close()


def test_messages_have_numbers_that_leave_nothing_out(lines):
    server = lines(2)
    server.send("prompt", text="hello")
    numbers = []
    while (message := server.read()).get("id") != server.count:
        numbers.append(int(message["params"]["id"].partition(".")[2]))
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    server.end()
