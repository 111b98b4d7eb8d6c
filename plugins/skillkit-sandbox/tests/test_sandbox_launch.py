"""Commands inside: the Python API, the command line, the runtime, the proxy, and the corners of mounts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import skillkit_bash.plugin
import skillkit_process
import skillkit_sandbox.plugin
from skillkit_sandbox import Sandboxes
from skillkit_sandbox.box import BubblewrapBackend, LandlockBackend
from skillkit_testkit.conformance import RuntimeConformance

from skillkit_core import Host
from skillkit_core.errors import ToolError

REQUIRED = os.environ.get("CI") == "true" or bool(os.environ.get("SKILLKIT_REQUIRE_SANDBOX"))


@pytest.fixture(autouse=True)
def _works():
    problem = BubblewrapBackend().problem()
    if problem and not REQUIRED:
        pytest.skip(problem)
    assert problem is None


def run(policy, cwd, *argv, backend=None, **options):
    box = Sandboxes().open(policy, cwd, backend=backend)
    return box.run(argv, cwd=cwd, capture_output=True, text=True, **options)


def sh(policy, cwd, code, **options):
    return run(policy, cwd, "sh", "-c", code, **options)


@pytest.fixture
def host(tmp_path):
    (tmp_path / "work").mkdir()
    return Host(
        plugins=[("bash", skillkit_bash.plugin), ("sandbox", skillkit_sandbox.plugin)], discover=False, cwd=tmp_path / "work",
        settings={"sandbox.commands": "mine", "sandbox.policies": {"mine": {"write": [str(tmp_path)]}}},
        environ={"SKILLKIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
    )  # fmt: skip


class TestSandboxRuntime(RuntimeConformance):
    @pytest.fixture
    def runtime(self, host):
        return asyncio.run(host.find_runtime())

    def test_death_by_a_signal_is_a_negative_exit_code(self, runtime, tmp_path):
        code = "import os,signal; os.kill(os.getpid(), signal.SIGTERM)"
        assert self.execute(runtime, self.script(code), cwd=tmp_path).exit_code == 128 + 15  # as the README says


def test_the_bash_tool_runs_its_commands_inside_and_the_model_reads_why_a_write_failed(host, tmp_path):
    from skillkit_core import AgentConfig, AgentRunner
    from skillkit_core.testing import Call, Reply, ScriptedModel

    outside = Path("/etc") / f"skillkit-{os.getpid()}"
    command = f"echo in > in.txt; echo out > {outside}; id -u"
    model = ScriptedModel([Reply(calls=[Call("bash", {"command": command})]), "done"])
    host.configure({"tools.allow": ["bash"]})

    async def main():
        agent = AgentRunner(AgentConfig(model="scripted"), host=host)
        agent.set_adapter(model)
        return await agent.chat("go")

    asyncio.run(main())
    said = str(model.requests[-1].messages[-1])
    assert "Read-only file system" in said
    assert (tmp_path / "work" / "in.txt").read_text() == "in\n"
    assert not outside.exists()


def test_without_a_policy_commands_run_as_before(tmp_path):
    host = Host(
        plugins=[("bash", skillkit_bash.plugin), ("sandbox", skillkit_sandbox.plugin)], discover=False, cwd=tmp_path
    )
    assert type(asyncio.run(host.find_runtime())).__name__ == "BashRuntime"


def test_a_policy_that_does_not_hold_here_runs_nothing(host, tmp_path, monkeypatch):
    monkeypatch.setattr(BubblewrapBackend, "problem", lambda self: "bwrap is not installed")
    runtime = asyncio.run(host.find_runtime())
    with pytest.raises(Exception, match="no sandbox holds this policy here: bubblewrap: bwrap is not installed"):
        asyncio.run(runtime.execute("touch ran", cwd=tmp_path))
    assert not (tmp_path / "ran").exists()


def skillkit(*argv, cwd, home, **options):
    env = {**os.environ, "SKILLKIT_HOME": str(home), "SECRET_OF_THE_HOST": "s3cret"}
    return subprocess.run(
        [sys.executable, "-m", "skillkit_core", "sandbox", *argv], cwd=cwd, env=env, capture_output=True, **options
    )


@pytest.mark.smoke
def test_the_command_keeps_folder_streams_and_status(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "policy.json").write_text(json.dumps({"write": [str(work)], "env": ["PATH"]}))
    every = bytes(range(256)) * 300
    policy = str(tmp_path / "policy.json")
    done = skillkit(
        "run",
        "--policy",
        policy,
        "--",
        "sh",
        "-c",
        "cat; pwd >&2; env >&2; exit 7",
        cwd=work,
        home=tmp_path,
        input=every,
    )
    assert (done.returncode, done.stdout) == (7, every)
    assert done.stderr.decode().startswith(f"{work}\n")
    assert "s3cret" not in done.stderr.decode()
    assert skillkit("run", "no-such-program", cwd=work, home=tmp_path).returncode == 127
    wrong = skillkit("run", "--policy", "no-such-policy", "true", cwd=work, home=tmp_path)
    assert wrong.returncode == 2
    assert b"unknown sandbox policy 'no-such-policy'" in wrong.stderr


def test_check_and_show_say_what_holds(tmp_path):
    found = json.loads(skillkit("check", "--json", cwd=tmp_path, home=tmp_path).stdout)
    assert found["holds"] == "bubblewrap"
    assert [b["backend"] for b in found["backends"]] == ["bubblewrap", "landlock"]
    assert "commands: project" in found["advice"]
    missing = {lack["capability"]: lack["grade"] for lack in found["backends"][1]["lacks"]}
    assert missing["metadata"] == missing["protect"] == "refused"
    assert found["limits"]["seconds"] == "the launcher: all together"
    assert found["limits"]["memory_mb"].endswith("setrlimit: each process")
    shown = json.loads(skillkit("show", "--policy", "read-only", "--json", cwd=tmp_path, home=tmp_path).stdout)
    assert (shown["policy"]["write"], shown["names"]) == ([], ["project", "read-only"])
    assert b"bubblewrap  works" in skillkit("check", cwd=tmp_path, home=tmp_path).stdout


def test_check_and_show_take_the_policy_without_an_option_too(tmp_path):
    (tmp_path / "mine.yaml").write_text("write: [out]\n")
    for command in ("check", "show"):
        told = [
            skillkit(command, *words, "--json", cwd=tmp_path, home=tmp_path).stdout
            for words in (["mine.yaml"], ["--policy", "mine.yaml"])
        ]
        assert told[0] == told[1] and json.loads(told[0])
        wrong = skillkit(command, "projct", cwd=tmp_path, home=tmp_path)
        assert wrong.stderr == b"Error: unknown sandbox policy 'projct'; did you mean 'project'?\n"
        twice = skillkit(command, "project", "--policy", "read-only", cwd=tmp_path, home=tmp_path)
        assert (wrong.returncode, twice.returncode) == (2, 2)
        assert twice.stderr == b"Error: two policies are named, 'project' and 'read-only'; leave --policy out\n"
    assert json.loads(told[0])["policy"]["write"] == [str(tmp_path / "out")]


class _Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"page {self.path} of {self.headers['Host']}".encode())

    def log_message(self, *args):
        pass


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            "{commands: projct}",
            "config.yaml:1: sandbox.commands: unknown sandbox policy 'projct'; did you mean 'project'?",
        ),
        ("{commands: project, backend: bubblewrp}", "unknown sandbox backend 'bubblewrp'"),
        ("{commands: project, backend: landlock}", "no sandbox holds this policy here: landlock"),
        ("{commands: project}", None),
    ],
)
def test_the_doctor_says_that_no_command_would_run(config, message, skillkit_cli, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").write_text(f"sandbox: {config}\n")
    checks = skillkit_cli("--plugins", "bash,sandbox", "doctor", "--json").json["checks"]
    found = next(check for check in checks if check["check"] == "configuration")
    assert (message or "") in found["message"]
    assert found["ok"] is (message is None)


_CLIENT = """
import http.client, os, socket, sys, urllib.request, urllib.error
port = int(sys.argv[1])
assert os.environ["https_proxy"] == "http://127.0.0.1:3128"
os.environ.pop("no_proxy"), os.environ.pop("NO_PROXY")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://127.0.0.1:3128"}))
print(opener.open(f"http://localhost:{port}/a?b").read().decode())
tunnel = http.client.HTTPConnection("127.0.0.1", 3128)
tunnel.set_tunnel("localhost", port)
tunnel.request("GET", "/through")
print(tunnel.getresponse().read().decode())
for url in (f"http://127.0.0.1:{port}/", "http://example.org/"):
    try: opener.open(url)
    except urllib.error.HTTPError as error: print(error.code, error.read().decode().strip())
try: socket.create_connection(("127.0.0.1", port), 2)
except OSError as error: print("direct:", type(error).__name__)
"""


def test_the_proxy_is_the_only_way_out_and_leads_to_the_domains_of_the_policy(tmp_path):
    server = HTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port
    policy = {"network": "proxy", "domains": [f"localhost:{port}"]}
    done = run(policy, tmp_path, sys.executable, "-c", _CLIENT, str(port))
    server.shutdown()
    server.server_close()
    assert done.stdout.splitlines() == [
        f"page /a?b of localhost:{port}",
        f"page /through of localhost:{port}",
        f"403 sandbox: 127.0.0.1:{port} is not among the domains of the policy",
        "403 sandbox: example.org:80 is not among the domains of the policy",
        "direct: ConnectionRefusedError",
    ], done.stderr


@pytest.mark.parametrize("policy", ["project", "read-only"])
def test_the_keys_and_sessions_of_skillkit_are_hidden_wherever_they_lie(host, tmp_path, policy):
    secrets = host.data_dir / "keyring" / "secrets.json"
    secrets.parent.mkdir(parents=True)
    secrets.write_text("sk-own")
    box = Sandboxes(host).open(policy, host.cwd)
    done = box.run(["cat", str(secrets)], cwd=host.cwd, capture_output=True, text=True)
    assert done.returncode != 0 and "sk-own" not in done.stdout + done.stderr


def test_configuration_and_sessions_of_skillkit_are_not_changed_where_a_policy_writes_the_home(tmp_path):
    host = Host(
        plugins=[("sandbox", skillkit_sandbox.plugin)], discover=False, cwd=tmp_path, environ={"HOME": str(tmp_path)},
        settings={"sandbox.policies": {"mine": {"write": ["."], "protect": []}}},
    )  # fmt: skip
    sandboxes = host.registry("sandboxes").get("sandbox")
    sandboxes.policy("mine")  # before the folders are there
    kept = [host.config_dir / "config.yaml", host.data_dir / "sessions" / "one.jsonl"]
    for file in kept:
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    code = " ".join(f"echo theirs > {file}; rm {file}; mv {file.parent} {file.parent}2;" for file in kept)
    done = sandboxes.open("mine").run(
        ["sh", "-c", f"{code} echo in > in"], cwd=tmp_path, capture_output=True, text=True
    )
    assert [file.read_text() for file in kept] == ["mine", "mine"] and (tmp_path / "in").exists()
    assert len(done.stderr.splitlines()) == 6  # all were refused


def test_a_single_file_is_written_in_place_and_cannot_be_replaced(tmp_path):
    policy = {"write_files": ["plan.md", "never.md"]}
    done = sh(policy, tmp_path, "echo plan > plan.md; echo x > other; mv plan.md y; rm plan.md; cat plan.md")
    assert done.stdout == "plan\n"
    assert (tmp_path / "plan.md").read_text() == "plan\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.md"]


def test_a_link_in_a_writable_folder_cannot_stand_before_a_protected_path(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "p" / ".git").symlink_to(tmp_path / "real")
    done = sh({"write": ["p"], "protect": [".git/hooks"]}, tmp_path, "true")
    assert done.returncode == 125
    assert done.stderr.startswith(f"sandbox: protect: {tmp_path}/p/.git is a link in a folder that can be written")


def test_a_project_that_is_named_by_a_link_is_protected_where_it_is(tmp_path):
    (tmp_path / "real" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    policy = {"write": [str(tmp_path / "link")], "protect": [str(tmp_path / "link" / ".git" / "hooks")]}
    done = sh(policy, tmp_path / "link", "echo x > .git/hooks/x; mv .git old; echo ok > ok; ls")
    assert not (tmp_path / "real" / ".git" / "hooks" / "x").exists()
    assert (tmp_path / "real" / ".git" / "hooks").is_dir()
    assert done.stdout == "ok\n"


def test_a_reserved_path_stays_reserved_while_one_of_two_sandboxes_runs(tmp_path):
    box = Sandboxes().open({"write": ["."], "protect": [".git/hooks"]}, tmp_path)
    argv = box.command(["sh", "-c", "echo up; read go; mkdir .git/hooks || mkdir .git && echo made"])
    pipe = subprocess.PIPE
    long = subprocess.Popen(argv, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe)
    assert long.stdout.readline() == b"up\n"
    assert box.run(["true"], cwd=tmp_path).returncode == 0
    assert (tmp_path / ".git").is_dir()
    said, errors = long.communicate(b"go\n")
    assert said == b"", errors
    assert not (tmp_path / ".git").exists()


def test_the_git_file_of_a_worktree_is_protected(tmp_path):
    (tmp_path / ".git").write_text("gitdir: /somewhere\n")
    sh({"write": ["."], "protect": [".git/hooks"]}, tmp_path, "rm .git; echo x > .git; mv .git y")
    assert (tmp_path / ".git").read_text() == "gitdir: /somewhere\n"


def test_only_named_folders_can_be_read_where_the_policy_does_not_say_everything(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("secret")
    system = [p for p in ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache") if os.path.exists(p)]
    done = sh(
        {"write": ["work"], "read": system},
        tmp_path / "work",
        f"echo ok > x; cat {tmp_path}/secret /etc/passwd; touch /y; ls /",
    )
    assert "secret" not in done.stdout
    assert "root:" not in done.stdout
    assert not {"home", "root", "var", "y"} & set(done.stdout.split())


def test_descriptors_and_the_first_process_tell_nothing_of_the_host(tmp_path):
    read, write = os.pipe()
    code = "ls /proc/self/fd | wc -l; ls /proc/1/fd | wc -l; tr '\\0' '\\n' < /proc/1/environ; grep Seccomp: /proc/1/status"
    done = sh({"env": ["PATH"]}, tmp_path, code, pass_fds=[read, write], env={**os.environ, "KEY": "s3cret"})
    for fd in (read, write):
        os.close(fd)
    assert "s3cret" not in done.stdout
    assert done.stdout.splitlines()[:2] == ["4", "5"]  # those of ls, and what the shell keeps of its errors
    assert done.stdout.splitlines()[-1].split() == ["Seccomp:", "2"]


def launched(backend, policy, cwd, code, **options):
    """Run a shell in a backend that nobody had to accept."""
    if problem := backend().problem():
        assert not REQUIRED, problem
        pytest.skip(problem)
    argv = backend().command(Sandboxes().policy(policy, cwd), ["sh", "-c", code])
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, **options)


def test_landlock_keeps_writes_and_sockets_inside_and_ends_what_is_left(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "key").write_text("secret")
    policy = {"write": ["."], "protect": [], "hide": [str(tmp_path / "key")]}
    code = (
        "echo in > in; echo out > ../out; ln -s .. up; echo out > up/out; echo t > $TMPDIR/t && echo temporary; cat ../key; "
        "python3 -c 'import socket; socket.socket()' 2>&1 | tail -1; "
        "(setsid sh -c 'while :; do echo . >> log; sleep 0.05; done' &) ; exit 3"
    )
    done = launched(LandlockBackend, policy, tmp_path / "work", code)
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines() == ["temporary", "PermissionError: [Errno 1] Operation not permitted"]
    assert (tmp_path / "work" / "in").exists()
    assert not (tmp_path / "out").exists()
    log = tmp_path / "work" / "log"
    size = log.stat().st_size if log.exists() else 0
    assert size == (log.stat().st_size if log.exists() else 0)


@pytest.mark.parametrize("backend", [BubblewrapBackend, LandlockBackend])
def test_limits_of_a_process_are_set_and_that_of_time_ends_everything_inside(backend, tmp_path):
    limits = {"cpu_seconds": 5, "disk_mb": 1, "open_files": 50}
    done = launched(backend, {"limits": limits}, tmp_path, "ulimit -t; ulimit -f; ulimit -n")
    assert done.stdout.split() == ["5", "2048", "50"]  # files in blocks of 512 bytes
    done = launched(backend, {"limits": {"seconds": 1}}, tmp_path, "(setsid sleep 600 &) ; sleep 600; echo late")
    assert (done.returncode, done.stdout) == (124, "")  # and nobody holds the pipe any more
    assert done.stderr.strip() == "sandbox: ended after 1 s, as limits.seconds says"


def test_the_launcher_imports_next_to_nothing(tmp_path):
    """It is started for every command: each of these modules costs as much as the sandbox, or half of it."""
    code = (
        "import sys; sys.path += sys.argv[1:]\n"
        "import skillkit_sandbox.launcher, skillkit_sandbox.bubblewrap, skillkit_sandbox.cgroup; print(*sys.modules)\n"
        "import skillkit_sandbox.landlock, skillkit_sandbox.proxy; print(*sys.modules)"
    )
    sources = (str(Path(module.__file__).parent.parent) for module in (skillkit_sandbox.plugin, skillkit_process))
    argv = [sys.executable, "-I", "-S", "-c", code, *sources]
    first, all_of_it = (
        set(line.split())
        for line in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    )
    assert (
        first
        & {"typing", "re", "enum", "contextlib", "collections", "subprocess", "shutil", "json", "pathlib", "ctypes"}
        == set()
    )
    assert all_of_it & {"typing", "asyncio", "subprocess", "shutil", "json", "pathlib", "pyseccomp"} == set()


def test_a_command_that_does_not_exist_is_a_tool_error(host, tmp_path):
    runtime = asyncio.run(host.find_runtime())
    with pytest.raises(ToolError, match="command not found: nothing-of-the-kind"):
        asyncio.run(runtime.execute(["nothing-of-the-kind"], cwd=tmp_path))
