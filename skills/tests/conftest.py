"""Run the actions as the host does: arguments by name, a clean environment, the workspace as working directory."""

import functools
import importlib
import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

BUNDLED = Path(__file__).parents[1] / "skillkit_bundled"
SKILLS = sorted(path.parent.name for path in BUNDLED.glob("*/SKILL.md"))


def manifest(skill):
    """Return the frontmatter of a skill and its body."""
    _, frontmatter, body = (BUNDLED / skill / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(frontmatter), body


def argv(skill, action, given):
    """Return the argument list that ACT-1 makes of named arguments."""
    [declared] = [one for one in manifest(skill)[0]["metadata"]["skillkit"]["actions"] if one["name"] == action]
    args = declared["args"]
    assert set(given) <= set(args), f"{action} has no argument {set(given) - set(args)}"
    values = {name: given.get(name, args[name].get("default")) for name in args}
    assert not [name for name, arg in args.items() if arg.get("required") and values[name] is None]
    words = [sys.executable, str(BUNDLED / skill / declared["script"])]
    words += [
        str(values[name])
        for name in sorted(args, key=lambda name: args[name].get("position", 0))
        if "position" in args[name]
    ]
    for name, arg in args.items():
        if "position" in arg or values[name] is None or values[name] is False:
            continue
        words += [f"--{name}"] if arg["type"] == "boolean" else [f"--{name}", str(values[name])]
    return words


# Forks a process for each action: pint and jmespath take a second to import, and a hundred tests would import them again.
FORKS = """
import gc, json, os, runpy, sys
import jmespath, pint

path, main = list(sys.path), sys.modules["__main__"]
gc.freeze()
for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if not pid:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    os._exit(0)
for number, name in enumerate([os.devnull, job["out"], job["err"]]):
    file = os.open(name, os.O_RDWR)
    os.dup2(file, number)
    os.close(file)
os.chdir(job["cwd"])
os.environ.clear()
os.environ.update(job["env"])
sys.argv[:] = job["argv"]
sys.path[:] = [os.path.dirname(job["argv"][0]), *path[1:]]
runpy.run_path(job["argv"][0], run_name="__main__")
"""


class Forks:
    """Runs scripts of actions in forked processes, one after the other."""

    def __init__(self, folder):
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._files = folder / "out", folder / "err"

    def run(self, argv, cwd, env):
        """Run a script to its end, as ``subprocess.run`` does."""
        for file in self._files:
            file.write_text("")
        out, err = map(str, self._files)
        job = {"argv": argv, "cwd": str(cwd), "env": env, "out": out, "err": err}
        self._process.stdin.write(json.dumps(job) + "\n")
        if not select.select([self._process.stdout], [], [], 300)[0]:
            self._process.kill()
            raise subprocess.TimeoutExpired(argv, 300)
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(argv, status, *(file.read_text("utf-8") for file in self._files))

    def close(self):
        """End the server."""
        self._process.communicate()


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """What forks the processes of actions, on Linux, where that is safe."""
    if sys.platform != "linux":
        yield None
        return
    made = Forks(tmp_path_factory.mktemp("forks"))
    yield made
    made.close()


@dataclass
class Workspace:
    """A folder in which actions run."""

    path: Path
    forks: Forks | None

    def run(self, skill, action, **given):
        """Run an action and return the finished process."""
        environment = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        environment |= {
            "HOME": str(self.path),
            "LANG": "C.UTF-8",
            "SKILL_DIR": str(BUNDLED / skill),
            "SKILLKIT_ACTION": action,
        }
        words = argv(skill, action, given)
        if self.forks is not None:
            return self.forks.run(words[1:], self.path, environment)
        return subprocess.run(
            words,
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def result(self, skill, action, **given):
        """Run an action that must succeed and return its JSON."""
        done = self.run(skill, action, **given)
        assert (done.returncode, done.stderr) == (0, "")
        result = json.loads(done.stdout)
        assert isinstance(result["answer"], str) and result["answer"]
        assert len(done.stdout) < 256 * 1024
        return result

    def problem(self, skill, action, **given):
        """Run an action that must fail and return its one line."""
        done = self.run(skill, action, **given)
        assert done.returncode == 2, done.stdout
        assert done.stdout == ""
        assert "Traceback" not in done.stderr and "mistake in the skill" not in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        return done.stderr.strip()

    def write(self, name, content):
        """Write a file of the workspace."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def workspace(tmp_path, forks):
    return Workspace(tmp_path, forks)


@pytest.fixture(scope="session")
def load():
    """Import a module of a skill's scripts without leaving it, its siblings or bytecode behind."""

    @functools.cache
    def import_script(skill, module):
        folder = BUNDLED / skill / "scripts"
        siblings = {path.stem for path in folder.glob("*.py")}
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, str(folder))
        try:
            return importlib.import_module(module)
        finally:
            sys.path.remove(str(folder))
            sys.dont_write_bytecode = before
            for name in siblings:
                sys.modules.pop(name, None)

    return import_script
